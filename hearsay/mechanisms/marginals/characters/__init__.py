"""Characters of attributes: their code, which ones are drawn, and how marginals are read from them."""
