"""Simulated holders of key-value pairs."""
