"""The page: files that the browser gets, and who may read them."""
