"""A mechanism's own options: declared once, checked, completed with defaults, listed in the documentation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from hearsay.mechanisms.errors import SpecificationError, one_of


@dataclass(frozen=True)
class Option:
    """A named option; `check` returns the normal form of what was given or raises SpecificationError.

    `schema` says the same of types and limits as JSON Schema, for editors; empty where only `check` can tell.
    """

    name: str
    default: Any
    check: Callable[[Any], Any]
    help: str
    schema: Mapping[str, Any] = field(default_factory=dict, hash=False)


def integer(name: str, default: int | None, low: int, high: int, help: str) -> Option:
    """An integer in low..high; where the default is None, the mechanism chooses."""

    def check(value: Any) -> Any:
        if value is None and default is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise SpecificationError(what=f"options.{name}", expected=f"an integer in {low}..{high}", got=repr(value))
        return value

    return Option(name, default, check, help, {"type": "integer", "minimum": low, "maximum": high})


def number(name: str, default: float, low: float, high: float, help: str, infinite: bool = False) -> Option:
    """A finite number in low..high; with `infinite` also "inf"."""

    def check(value: Any) -> Any:
        if infinite and value in ("inf", float("inf")):
            return "inf"
        if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
            raise SpecificationError(what=f"options.{name}", expected=f"a number in {low:g}..{high:g}", got=repr(value))
        if not low <= value <= high:
            raise SpecificationError(what=f"options.{name}", expected=f"a number in {low:g}..{high:g}", got=repr(value))
        return float(value)

    limits = {"type": "number", "minimum": low}
    schema = {"anyOf": [limits, {"const": "inf"}]} if infinite else {**limits, "maximum": high}
    return Option(name, default, check, help, schema)


def choice(name: str, default: str, choices: tuple[str, ...], help: str) -> Option:
    """One of a few words."""

    def check(value: Any) -> Any:
        if value not in choices:
            raise SpecificationError(
                what=f"options.{name}", expected=f"one of {one_of(choices, value)}", got=repr(value)
            )
        return value

    return Option(name, default, check, help, {"enum": list(choices)})


def flag(name: str, default: bool, help: str) -> Option:
    """True or false."""

    def check(value: Any) -> Any:
        if not isinstance(value, bool):
            raise SpecificationError(what=f"options.{name}", expected="true or false", got=repr(value))
        return value

    return Option(name, default, check, help, {"type": "boolean"})


def complete(declared: tuple[Option, ...], given: Any) -> dict[str, Any]:
    """Every declared option with the given value or its default; unknown ones are refused."""
    if not isinstance(given, Mapping):
        raise SpecificationError(what="options", expected="a table", got=type(given).__name__)
    known = {option.name for option in declared}
    for name in given:
        if name not in known:
            allowed = one_of(sorted(known), name) or "none"
            raise SpecificationError(f"options has the unknown key {name!r}; allowed: {allowed}")
    return {option.name: option.check(given.get(option.name, option.default)) for option in declared}
