"""How a family lists what it has: tables of names and homes, whose classes are imported on first use.

A family is a package whose `__init__` holds up to four tables: `MECHANISMS`, `DOMAINS`, `QUERIES` (name to home) and
`CANDIDATES` (kind of domain to the mechanisms that `auto` compares). A home is
"module:Class", the module inside the family's package; ":Class" is the package itself, as plug-ins of one file have it.
"""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

_ALWAYS: Mapping[str, Any] = MappingProxyType({})
GIVEN = object()  # any value of an option but none


class Form(NamedTuple):
    """One class of a mechanism: for which kinds of domain, and with which options."""

    kinds: tuple[str, ...]
    home: str
    when: Mapping[str, Any] = _ALWAYS  # options that choose this form before one that has none

    def fits(self, kind: str, options: Any) -> bool:
        """Whether this is the class for a domain of that kind with those options."""
        given = options if isinstance(options, Mapping) else {}
        return kind in self.kinds and all(
            given.get(name) is not None if value is GIVEN else given.get(name) == value
            for name, value in self.when.items()
        )


class Home(NamedTuple):
    """Where a class stands."""

    package: str
    location: str

    def load(self) -> Any:
        """The class itself."""
        module, _, name = self.location.partition(":")
        return getattr(import_module(f"{self.package}.{module}" if module else self.package), name)
