"""One file per command; each holds the click object `command` and is imported only when it runs."""
