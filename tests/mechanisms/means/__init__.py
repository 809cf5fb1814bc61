"""Tests of the family `means`."""
