"""The page in a real browser: Debian's Chromium, driven over its own protocol."""
