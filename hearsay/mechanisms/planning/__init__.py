"""Which mechanism to take."""
