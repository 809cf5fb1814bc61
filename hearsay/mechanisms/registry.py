"""Which mechanisms exist, and how a survey's table becomes one."""

from collections.abc import Mapping
from typing import Any

from hearsay.mechanisms.base import Mechanism
from hearsay.mechanisms.domains.domain import parse
from hearsay.mechanisms.errors import SpecificationError

REGISTRY: dict[str, type[Mechanism]] = {}


def register(mechanism: type[Mechanism]) -> type[Mechanism]:
    """Class decorator: makes a mechanism known by its ID to surveys, command line, documentation and shared tests."""
    REGISTRY[mechanism.ID] = mechanism
    return mechanism


def build(table: Mapping[str, Any]) -> Mechanism:
    """A mechanism from a survey's table: `mechanism` (or "auto"), `epsilon`, `domain` and, if wanted, `options`."""
    for key in ("mechanism", "epsilon", "domain"):
        if key not in table:
            raise SpecificationError(f"{key} is missing")
    name = table["mechanism"]
    if name == "auto":
        from hearsay.mechanisms.planning.auto import (
            resolve,  # it knows the registry, so the registry cannot import it first
        )

        table, _ = resolve(table)
        name = table["mechanism"]
    if name not in REGISTRY:
        raise SpecificationError(f"mechanism must be one of {', '.join(sorted(REGISTRY))}, got {name!r}")
    return REGISTRY[name].create(table["epsilon"], parse(table["domain"]), table.get("options", {}))
