"""Texts without a given list: which are detected, and how often intervals contain the truth."""
