"""Attacks on the reports a mechanism really makes."""
