"""The device of browsers, in a page."""
