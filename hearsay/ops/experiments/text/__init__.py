"""Texts that nobody listed: what is told, and how often intervals contain the truth."""
