"""Surveys one by one: a registration that this version cannot read must not hide the others."""

from collections.abc import Iterator

from collector import keys
from collector.errors import CollectorError
from collector.registry import Registered, Registry


def names(registry: Registry) -> list[str]:
    """Every registered name, whether or not its survey can be read."""
    return sorted(name.decode() for name in registry.client.hkeys(keys.surveys(registry.prefix)))


def readable(registry: Registry) -> Iterator[Registered]:
    """Every survey that can be read; the estimator's pass counts the others as failures."""
    for name in names(registry):
        try:
            yield registry.get(name)
        except CollectorError:
            continue
