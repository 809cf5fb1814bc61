"""Ranges by hierarchical histograms with constrained inference."""
