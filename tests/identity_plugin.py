"""Registers the mechanisms without noise: what a test's processes load by HEARSAY_PLUGINS."""

from hearsay.mechanisms import register
from tests.identity import Identity, Poison

register(Identity)
register(Poison)
