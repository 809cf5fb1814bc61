"""The experiments on key-value data."""
