"""Kulkarni chapter 6, reproduced: heat maps, scores, and errors on groups."""
