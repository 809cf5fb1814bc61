"""Equal stretches of an axis, and how a question says how many."""

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.errors import QueryError

MOST = 999_999_999  # more than any domain has cells
Ends = NDArray[np.int64]


def whole_number(text: str, query: str, most: int = MOST) -> int:
    """How many a question asks for; QueryError where it is no whole number in 1..most."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(MOST)) else 0
    if not 1 <= number <= most:
        raise QueryError(what=query, expected=f"a whole number in 1..{most}", got=text)
    return number


def cut_points(size: int, stretches: int) -> Ends:
    """Where equal stretches of `size` cells begin, and the end: stretch i holds the cells cut[i]..cut[i+1]-1.

    >>> cut_points(10, 4).tolist()
    [0, 2, 5, 7, 10]
    """
    return np.arange(stretches + 1, dtype=np.int64) * size // stretches
