"""The mathematics of hearsay by family: one file per mechanism, no input or output."""

from collections.abc import Mapping
from typing import Any

from hearsay.mechanisms.base import Mechanism, State, merge
from hearsay.mechanisms.exact.randomness import secure, seeded
from hearsay.mechanisms.layout import Reports

__all__ = ["Mechanism", "Reports", "State", "build", "merge", "secure", "seeded"]


def build(table: Mapping[str, Any]) -> Mechanism:
    """A mechanism from a survey's table: `mechanism` (or "auto"), `epsilon`, `domain` and, if wanted, `options`."""
    from hearsay.mechanisms import catalogue

    if table.get("mechanism") == "auto":
        from hearsay.mechanisms.planning.auto import resolve

        table, _ = resolve(table)
    return catalogue.build(table)
