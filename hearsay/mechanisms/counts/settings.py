"""The options of the mechanisms for counts, as surveys and `hearsay release` take them."""

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

from hearsay.mechanisms.counts.objectives import GRAMMAR, QUESTIONS, Objective
from hearsay.mechanisms.counts.properties import MEANINGS, PROPERTIES
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.options import Option, flag, integer

MATRIX = "matrix"


def _each(name: str, allowed: str, check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A list, every entry of which passes a check."""

    def checked(value: Any) -> Any:
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise SpecificationError(what=f"options.{name}", expected=f"a list of {allowed}", got=repr(value))
        return [check(entry) for entry in value]

    return checked


def _property(entry: Any) -> str:
    if entry not in PROPERTIES:
        raise SpecificationError(what="options.properties", must=f"hold {', '.join(PROPERTIES)}", got=repr(entry))
    return str(entry)


def _weight(entry: Any) -> float:
    if not isinstance(entry, int | float) or isinstance(entry, bool) or not isfinite(entry) or entry < 0:
        raise SpecificationError(what="options.weights", must="hold numbers >= 0", got=repr(entry))
    return float(entry)


def _objective(value: Any) -> str:
    return Objective.parse(str(value)).name


def _weights(value: Any) -> list[float] | None:
    return None if value is None else _each("weights", "numbers, one per count", _weight)(value)


def _matrix(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise SpecificationError(what=f"options.{MATRIX}", expected="a text", got=type(value).__name__)
    return value


def _tie(value: Any) -> str | None:
    if value not in (None, "none", "l1"):
        raise SpecificationError(what="options.tie", expected='"none" or "l1"', got=repr(value))
    return "l1" if value == "l1" else None


def _listed_properties(value: Any) -> list[str]:
    asked = set(_each("properties", "properties", _property)(value))
    return [name for name in PROPERTIES if name in asked]


TIE = Option("tie", None, _tie, 'with "l1" the fair mechanism with the least L1 error; needs a solver once')
PACKED = Option(MATRIX, None, _matrix, "the solved matrix, which the canonical survey has: devices need no solver")
DESIGN = (
    Option("properties", [], _listed_properties, f"any of {', '.join(f'{k} ({v})' for k, v in MEANINGS.items())}"),
    Option("objective", "L0", _objective, f"what is minimised: {GRAMMAR}"),
    Option("weights", None, _weights, "how much each count matters, from 0 to max; equally where absent"),
    flag("local", False, "promise epsilon for any two counts, not for neighbours only"),
    integer("within", 1, 1, 200, "promise epsilon for counts up to so far apart"),
    Option("workload", [], _each("workload", "questions", str), f"questions instead of the count itself: {QUESTIONS}"),
)
