"""Ranges by Haar wavelets."""
