"""What processes say about themselves: that they live, what keeps them from their work, how long it took."""
