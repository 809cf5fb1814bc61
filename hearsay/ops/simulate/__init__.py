"""The whole path in one process."""
