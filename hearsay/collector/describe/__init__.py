"""A survey in words and numbers."""
