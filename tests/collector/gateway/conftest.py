"""Mechanisms without noise are known during these tests."""

from tests.identity import known_to_this_process

__all__ = ["known_to_this_process"]
