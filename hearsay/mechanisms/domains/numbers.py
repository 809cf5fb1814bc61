"""Numbers as people write them: with a decimal point, without marks between their digits."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def numbers(values: Sequence[Any] | NDArray[Any]) -> tuple[NDArray[np.float64], type[np.floating]]:
    """Values as doubles, and the precision they came in: 35.3 of four bytes is another number than 35.3 of eight.

    What is no number is not a number here either, so that no range holds it.
    """
    try:
        given = np.asarray(values)
        short = given.dtype.kind == "f" and given.dtype.itemsize < 8
        found = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.array([_number_or_nan(value) for value in values], dtype=np.float64), np.float64
    if given.dtype.kind == "U":  # Python reads 1_5 as 15, which may have been 1,5 or 1.5
        found[np.char.find(given, "_") >= 0] = np.nan
    return found, given.dtype.type if short else np.float64


def plain_numbers(values: Sequence[Any] | NDArray[Any]) -> NDArray[np.float64]:
    """One double for each value; not a number where it is none."""
    found, _ = numbers(values)
    return found if found.ndim == 1 else np.full(len(found), np.nan)


def _number_or_nan(value: Any) -> float:
    try:
        return float("nan") if isinstance(value, str) and "_" in value else float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")
