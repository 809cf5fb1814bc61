"""Privacy that grows with the distance of two values."""
