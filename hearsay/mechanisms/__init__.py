"""The mathematics of hearsay by family: one file per mechanism, no input or output.

Names are imported from their homes on first use: a device that follows a form has no numpy, and needs the errors.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

__all__ = ["Mechanism", "Reports", "State", "build", "merge", "secure", "seeded"]

if TYPE_CHECKING:
    from hearsay.mechanisms.base import Mechanism, State, merge
    from hearsay.mechanisms.exact.randomness import secure, seeded
    from hearsay.mechanisms.layout import Reports


def build(table: Mapping[str, Any]) -> "Mechanism":
    """A mechanism from a survey's table: `mechanism` (or "auto"), `epsilon`, `domain` and, if wanted, `options`."""
    from hearsay.mechanisms import catalogue

    if table.get("mechanism") == "auto":
        from hearsay.mechanisms.planning.auto import resolve

        table, _ = resolve(table)
    return catalogue.build(table)


if not TYPE_CHECKING:
    _HOMES = {"Mechanism": "base", "State": "base", "merge": "base", "Reports": "layout"} | dict.fromkeys(
        ("secure", "seeded"), "exact.randomness"
    )

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in _HOMES:
            raise AttributeError(f"module 'hearsay.mechanisms' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"hearsay.mechanisms.{_HOMES[name]}"), name)
        return value
