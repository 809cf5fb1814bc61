"""Shares of equal stretches of an ordered domain, as many as the noise allows.

A stretch is answered as `range` answers it. Without N the largest number near a power of two is taken, for each axis,
whose tallest stretch is at least four median half widths: finer bars would show noise, coarser ones hide the shape.
A number is taken that makes them equally wide, if one is near: of bars that are two or three cells wide by turns every
other one would stand out, and bars of 5 years are read sooner than bars of 6.25. At most 256 stretches of a line and
4,096 boxes of a grid are drawn, at least 4 along an axis.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import log2
from typing import Any, Self

import numpy as np

from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Floats, Measured, Ranges
from hearsay.mechanisms.estimates.postprocess import ISOTONIC, process
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.queries.example import LINE, ON_A_LINE, Example
from hearsay.mechanisms.queries.query import Query
from hearsay.mechanisms.queries.stretches import Ends, cut_points, whole_number
from hearsay.mechanisms.queries.view import View

LEAST, MOST, MOST_BOXES = 4, 256, 4096
WIDE = 6  # cells of a stretch from which one more or less hardly shows: only a nearer number is worth it
VISIBLE = 4.0  # median half widths that the tallest stretch must reach


@dataclass(frozen=True)
class Histogram(Query):
    """The shares of equal stretches; `stretches` holds one number for each axis, or none: as the noise allows."""

    stretches: tuple[int, ...]

    NAME, GRAMMAR = "histogram", "histogram [N...]"
    HELP = "the shares of N equal stretches (on a grid N for each axis); without N as many as the noise allows"
    NEEDS, MANY, METHODS, WORDS = Ranges, True, frozenset({"clip", ISOTONIC}), (0, None)
    EXAMPLES = (Example(LINE, ON_A_LINE, "histogram 2", [2 / 3, 1 / 3], [[0, 1], [2, 3]]),)
    PREDICTED, VARIES = "range", True  # without N the noise decides how many stretches there are

    @classmethod
    def unsuited(cls, domain: Domain) -> str | None:
        if isinstance(domain, Cells) and domain.ORDERED:
            return None
        return f"query histogram needs an ordered domain, this one is {domain.kind}"

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        axes = domain.axes
        given = [*words] * len(axes) if len(words) == 1 else [*words]
        if given and len(given) != len(axes):
            raise QueryError(f"query histogram takes one number for each of {len(axes)} axes, got {len(words)}")
        return cls(tuple(whole_number(text, cls.NAME, axis.size) for text, axis in zip(given, axes, strict=False)))

    def answers(self, domain: Domain) -> int:
        assert isinstance(domain, Cells)
        return int(np.prod(self.stretches or next(choices(domain))))

    def together(self, domain: Domain) -> int:
        return self.answers(domain)

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        domain = estimate.domain
        stretches, raw = self._measured(estimate)
        boxes = _boxes(domain, stretches)
        first, last = (ends.tolist() for ends in boxes)
        names = (domain.covered([*zip(*ends, strict=True)]) for ends in zip(first, last, strict=True))
        return view.show(raw, names, _processed(estimate, view.method, raw, boxes))

    def settled(self, one: Any, other: Any) -> Query:
        if self.stretches:
            return self
        chosen = (self._measured(estimate)[0] for estimate in (one, other))
        return Histogram(tuple(min(pair) for pair in zip(*chosen, strict=True)))

    def _measured(self, estimate: Any) -> tuple[tuple[int, ...], Measured]:
        if self.stretches:
            return self.stretches, estimate.ranges(*_boxes(estimate.domain, self.stretches))
        return next(chosen for chosen in _measured_choices(estimate) if chosen is not None)


def choices(domain: Cells) -> Iterator[tuple[int, ...]]:
    """Numbers of stretches to try, finest first: near a power of two along each axis, or all cells of a short one."""
    along = MOST if len(domain.axes) == 1 else int(MOST_BOXES ** (1 / len(domain.axes)) + 1e-9)
    stretches = 1 << (along.bit_length() - 1)
    longest = max(domain.shape)
    while stretches > LEAST and stretches // 2 >= longest:
        stretches //= 2
    while stretches >= min(LEAST, along):
        yield tuple(_even(size, stretches, along) for size in domain.shape)
        stretches //= 2


@lru_cache(maxsize=1 << 10)
def _even(size: int, wanted: int, most: int) -> int:
    """Less than twice or more than half as many stretches as wanted, equally wide but for the last if possible.

    The last one may be a cell wider. Where no number near does that, `wanted` itself.

    >>> [_even(82, wanted, 256) for wanted in (64, 32, 16, 8, 4)]
    [82, 41, 27, 9, 4]
    >>> [_even(100, wanted, 256) for wanted in (64, 32, 16, 8, 4)]
    [50, 25, 20, 10, 4]
    """
    if size <= wanted:
        return size
    near: Iterable[int] = range(max(LEAST, wanted // 2 + 1), min(2 * wanted - 1, most, size) + 1)
    if size >= WIDE * wanted:
        near = [number for number in near if _distance(number, wanted) < 0.5]
    even = [number for number in near if size % number == 0 or (size % number == 1 and size // number > 1)]
    return min(even, key=lambda number: (size % number, _distance(number, wanted)), default=wanted)


def _distance(number: int, wanted: int) -> float:
    """In powers of two."""
    return abs(log2(number / wanted))


def _measured_choices(estimate: Any) -> Iterator[tuple[tuple[int, ...], Measured] | None]:
    """The first choice whose tallest stretch is visible above the noise, else the coarsest."""
    chosen = None
    for stretches in choices(estimate.domain):
        raw = estimate.ranges(*_boxes(estimate.domain, stretches))
        chosen = stretches, raw
        low, high = raw.ends()
        half = (high - low) / 2
        if raw.value.max() >= VISIBLE * np.median(np.where(np.isfinite(half), half, np.inf)):
            yield chosen
    yield chosen


def _boxes(domain: Cells, stretches: tuple[int, ...]) -> tuple[Ends, Ends]:
    """First and last cells of every box, row-major, shape (boxes, axes)."""
    cuts = [cut_points(size, number) for size, number in zip(domain.shape, stretches, strict=True)]
    low = np.array([*product(*(cut[:-1].tolist() for cut in cuts))], dtype=np.int64)
    high = np.array([*product(*((cut[1:] - 1).tolist() for cut in cuts))], dtype=np.int64)
    return low, high


def _processed(estimate: Any, method: str, raw: Measured, boxes: tuple[Ends, Ends]) -> Floats | None:
    if method != ISOTONIC:
        return None if method == "none" else process(raw.value, method).values
    before = np.concatenate([[0.0], estimate.rising])
    low, high = (ends[:, 0] for ends in boxes)
    shares: Floats = before[high + 1] - before[low]
    return shares
