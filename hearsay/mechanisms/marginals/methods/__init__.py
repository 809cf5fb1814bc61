"""The methods that collect marginals, a file each; what several of them share stands beside them."""
