"""Surveys and their windows."""
