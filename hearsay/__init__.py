"""A streaming collector for local differential privacy."""
