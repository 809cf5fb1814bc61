"""Exact integer arithmetic: randomness, thresholds, counting, transforms."""
