"""What is asked of marginals beyond their cells: models, tests, information, conditionals, trees."""
