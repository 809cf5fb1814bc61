"""Mechanisms from outside: modules named by HEARSAY_PLUGINS."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from hearsay.collector.errors import CollectorError
from hearsay.mechanisms import catalogue


def load_plugins(names: str | None) -> None:
    """Add families from outside: modules with a family's tables, given as a comma-separated list.

    They are looked for in the current folder first, however the process was started. Their classes are imported at
    once: what is missing is said now, and afterwards the current folder is no place for modules any more.
    """
    with _current_folder_first():
        for name in filter(None, (part.strip() for part in (names or "").split(","))):
            _load(name)


def _load(name: str) -> None:
    try:
        added = catalogue.add(name)
        for home in catalogue.homes(name):
            home.load()
    except ImportError as error:
        raise CollectorError(f"plugins must name modules that can be imported, got {name!r}: {error}") from None
    except Exception as error:  # whatever a stranger's module does
        words = f"{type(error).__name__}: {error}".splitlines()[0]
        raise CollectorError(f"plugin {name} cannot be used, it raises {words}") from error
    if not added:
        raise CollectorError(f"plugins must name modules with {', '.join(catalogue.EXPORTS)}, got {name!r}")


@contextmanager
def _current_folder_first() -> Iterator[None]:
    """As `python -m` has it for good; for a script Python puts the script's own folder there instead."""
    sys.path.insert(0, "")
    try:
        yield
    finally:
        sys.path.remove("")  # the first one: ours
