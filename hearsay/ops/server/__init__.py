"""Servers and processes that are started from here."""
