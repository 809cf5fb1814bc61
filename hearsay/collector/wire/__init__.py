"""Reports as bytes."""
