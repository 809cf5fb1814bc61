"""Where private values come from, and how cells are found and named."""
