"""Mechanisms from outside: modules named by HEARSAY_PLUGINS."""

from hearsay.collector.errors import CollectorError
from hearsay.mechanisms import catalogue


def load_plugins(names: str | None) -> None:
    """Add families from outside: modules with a family's tables, given as a comma-separated list."""
    for name in filter(None, (part.strip() for part in (names or "").split(","))):
        try:
            added = catalogue.add(name)
        except ImportError as error:
            raise CollectorError(f"plugins must name modules that can be imported, got {name!r}: {error}") from None
        except Exception as error:  # whatever a stranger's module does
            words = f"{type(error).__name__}: {error}".splitlines()[0]
            raise CollectorError(f"plugin {name} cannot be used, it raises {words}") from error
        if not added:
            raise CollectorError(f"plugins must name modules with {', '.join(catalogue.EXPORTS)}, got {name!r}")
