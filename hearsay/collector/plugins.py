"""Mechanisms from outside: modules named by HEARSAY_PLUGINS."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from hearsay.collector.errors import CollectorError
from hearsay.mechanisms import catalogue


def load_plugins(names: str | None) -> None:
    """Add families from outside: modules with a family's tables, given as a comma-separated list.

    They are looked for in the current folder first, however the process was started; what they import comes from there
    only where nothing of that name is installed. Their classes are imported at once: what is missing is said now, and
    afterwards the current folder is no place for modules any more.
    """
    named = [name for part in (names or "").split(",") if (name := part.strip())]
    with _from_current_folder({name.partition(".")[0] for name in named}):
        for name in named:
            _load(name)


def _load(name: str) -> None:
    try:
        added = catalogue.add(name)
        for home in catalogue.homes(name):
            home.load()
    except ImportError as error:
        raise CollectorError(
            what="plugins", must="name modules that can be imported", got=repr(name), ending=f": {error}"
        ) from None
    except Exception as error:  # whatever a stranger's module does
        words = f"{type(error).__name__}: {error}".splitlines()[0]
        raise CollectorError(f"plugin {name} cannot be used, it raises {words}") from error
    if not added:
        raise CollectorError(what="plugins", must=f"name modules with {', '.join(catalogue.EXPORTS)}", got=repr(name))


class _InCurrentFolder:
    """Finds modules of these names in the current folder, and no others."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return PathFinder.find_spec(name, [os.getcwd()]) if name in self._names else None


@contextmanager
def _from_current_folder(names: set[str]) -> Iterator[None]:
    """Modules of these names come from the current folder first, any other from there last.

    Were the folder simply first, a `redis.py` in it would be taken for the real one.
    """
    finder, before = _InCurrentFolder(names), list(sys.path)
    sys.meta_path.insert(0, finder)
    sys.path.append(os.getcwd())
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        sys.path[:] = before
