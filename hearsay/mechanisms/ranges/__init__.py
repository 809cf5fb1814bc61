"""Ranges and quantiles of ordered values."""
