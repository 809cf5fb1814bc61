"""Numbers as people write them: digits 0 to 9 with a decimal point, without marks between them.

Python reads more: 1_5 as 15, which may have been 1,5 or 1.5, and the digits of every script, which a table that holds
them by mistake (full-width, or pasted from elsewhere) should not smuggle in.
"""

import csv
from collections.abc import Sequence
from math import isnan, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LAST_ASCII = 127


def number(text: Any) -> float:
    """One number, or NaN if the text is not a plain number."""
    if isinstance(text, bytes):
        text = text.decode("latin-1")
    if isinstance(text, complex | np.complexfloating):
        return nan  # numpy would drop its imaginary part, and warn
    if isinstance(text, str) and ("_" in text or not text.isascii()):
        return nan
    try:
        return float(text)
    except (TypeError, ValueError, OverflowError):
        return nan


def numbers(values: Sequence[Any] | NDArray[Any]) -> tuple[NDArray[np.float64], type[np.floating]]:
    """Values as doubles, and the precision they came in: 35.3 of four bytes is another number than 35.3 of eight.

    A value that is not a number becomes NaN, which lies in no range.
    """
    try:
        given = np.ascontiguousarray(values)
        parsed = None if given.dtype.kind in "OSc" else given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        parsed = None
    if parsed is None:
        return np.array([number(value) for value in values], dtype=np.float64), np.float64
    if given.dtype.kind == "U":
        letters = given.view(np.uint32).reshape(*given.shape, -1)
        parsed[((letters == ord("_")) | (letters > _LAST_ASCII)).any(axis=-1)] = nan
    short = given.dtype.kind == "f" and given.dtype.itemsize < 8
    return parsed, given.dtype.type if short else np.float64


def read_matrix(text: str) -> list[list[Any]]:
    """A matrix from comma-separated text, as a file holds it: one row per line, numbers or inf.

    What is no number stays text: the check of the option refuses it, and names the option.
    """
    rows = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines()) if row]
    return [["inf" if cell == "inf" else cell if isnan(number(cell)) else number(cell) for cell in row] for row in rows]


def plain_numbers(values: Sequence[Any] | NDArray[Any]) -> NDArray[np.float64]:
    """One double for each value; NaN for a value that is not a number."""
    parsed, _ = numbers(values)
    return parsed if parsed.ndim == 1 else np.full(len(parsed), nan)
