"""Answers, metrics and health over HTTP."""
