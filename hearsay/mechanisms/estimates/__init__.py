"""What an estimate is, and what ranges, grids and sums share."""
