"""Mechanisms from outside: modules named by HEARSAY_PLUGINS."""

import importlib

from hearsay.collector.errors import CollectorError


def load_plugins(names: str | None) -> None:
    """Import modules that register further mechanisms, given as a comma-separated list."""
    for name in filter(None, (part.strip() for part in (names or "").split(","))):
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise CollectorError(f"plugins must name modules that can be imported, got {name!r}: {error}") from None
