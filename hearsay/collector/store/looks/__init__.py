"""Looks at whole surveys."""
