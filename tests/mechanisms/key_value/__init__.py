"""Tests of the family `key_value`."""
