"""Ranges and cumulative shares of ordered domains.

Ranges are inclusive. Where an axis is continuous its bins are half open, the last one closed, as they are for devices:
an end inside a bin takes the whole bin, an end on the edge of two bins takes none of the next one, and the answer says
which stretch it covers.

Post-processing: `clip` cuts every share; `isotonic` makes cumulative shares on one axis that never fall, and ranges
from them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.cells import Cells, Ends
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.estimates.estimate import Floats, Measured, Ranges
from hearsay.mechanisms.estimates.postprocess import ISOTONIC, SMOOTH, process
from hearsay.mechanisms.queries.answer import Answer, in_whole_bins
from hearsay.mechanisms.queries.example import LINE, ON_A_LINE, Example
from hearsay.mechanisms.queries.query import Query
from hearsay.mechanisms.queries.stretches import cut_points, whole_number
from hearsay.mechanisms.queries.view import View

_METHODS = frozenset({"clip", ISOTONIC, SMOOTH})


def unordered(name: str, domain: Domain) -> str | None:
    """Why a domain has no ranges, where it has none."""
    if isinstance(domain, Cells) and domain.ORDERED:
        return None
    return f"query {name} needs an ordered domain (ordinal or grid), this one is {domain.kind}"


def arrays(ends: Ends) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One range as estimates take it: lower ends, upper ends, shape (1, axes)."""
    low, high = np.array([ends], dtype=np.int64).transpose(2, 0, 1)
    return low, high


def no_line(name: str, domain: Domain) -> str | None:
    """Why a domain's cells do not stand in one order, where they do not."""
    if isinstance(domain, Cells) and domain.is_line:
        return None
    return f"query {name} needs an ordinal domain, this one is {domain.kind}"


@dataclass(frozen=True)
class Range(Query):
    """The share inside a range."""

    ends: Ends
    widened: bool = False  # whether whole bins reach beyond what was asked for

    NAME, GRAMMAR = "range", "range A B"
    HELP = "the share of A..B, both included; on a grid `range A1:B1 A2:B2 ...`"
    NEEDS: ClassVar[type] = Ranges
    PREDICTED: ClassVar[str] = "range"
    METHODS = _METHODS
    WORDS: ClassVar[tuple[int, int | None]] = (1, None)
    EXAMPLES: ClassVar[tuple[Example, ...]] = (Example(LINE, ON_A_LINE, "range 1 3", [5 / 6], [[1, 3]]),)

    @classmethod
    def unsuited(cls, domain: Domain) -> str | None:
        return unordered(cls.NAME, domain)

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        return cls(domain.locate_range(words, cls.NAME), domain.widens(words, cls.NAME))

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        answers = self._shares(estimate, view)
        return in_whole_bins(answers) if self.widened else answers

    def _shares(self, estimate: Any, view: View) -> list[Answer]:
        low, high = arrays(self.ends)
        raw = estimate.ranges(low, high)
        view = view.after_guard(estimate)
        if view.method == SMOOTH:
            smooth = estimate.smooth.ranges(low[:, 0], high[:, 0] + 1)
            return view.show_smooth(raw, smooth, [estimate.domain.covered(self.ends)])
        return view.show(raw, [estimate.domain.covered(self.ends)], self._processed(estimate, view, raw))

    def _processed(self, estimate: Any, view: View, raw: Measured) -> Floats | None:
        if view.method != ISOTONIC:
            return _cut(raw, view.method)
        ((first, last),) = self.ends
        before = np.concatenate([[0.0], estimate.rising])
        return np.array([before[last + 1] - before[first]])


@dataclass(frozen=True)
class Prefix(Range):
    """The share up to a value."""

    NAME, GRAMMAR = "prefix", "prefix B"
    WORDS: ClassVar[tuple[int, int | None]] = (1, 1)
    HELP = "the share up to B, included"
    EXAMPLES = (Example(LINE, ON_A_LINE, "prefix 1", [2 / 3], [[0, 1]]),)

    @classmethod
    def unsuited(cls, domain: Domain) -> str | None:
        return no_line(cls.NAME, domain)

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        (axis,) = domain.axes
        return cls([axis.locate_range(None, words[0])], axis.widens(None, words[0]))


@dataclass(frozen=True)
class Cdf(Query):
    """The share up to every value, or up to `points` evenly spaced ones."""

    points: int | None = None

    NAME, GRAMMAR = "cdf", "cdf [N]"
    HELP = "the share up to and including every value, or up to N evenly spaced ones"
    NEEDS, MANY, METHODS, WORDS = Ranges, True, _METHODS, (0, 1)
    EXAMPLES = (Example(LINE, ON_A_LINE, "cdf", [1 / 6, 2 / 3, 2 / 3, 1.0], [0, 1, 2, 3]),)
    PREDICTED = "range"

    @classmethod
    def unsuited(cls, domain: Domain) -> str | None:
        return no_line(cls.NAME, domain)

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        return cls(min(whole_number(words[0], cls.NAME), domain.size) if words else None)

    def answers(self, domain: Domain) -> int:
        return domain.size if self.points is None else self.points

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        (axis,) = estimate.domain.axes
        last = cut_points(axis.size, axis.size if self.points is None else self.points)[1:] - 1
        # The item is the inclusive upper end: the integer or label itself, or the upper end of the bin.
        items = (axis.units(i + 1) if axis.continuous else axis.item(i) for i in last.tolist())
        raw = estimate.cdf() if self.points is None else estimate.prefixes(last)
        view = view.after_guard(estimate)
        if view.method == SMOOTH:
            smooth = estimate.smooth.ranges(np.zeros_like(last), last + 1)
            return view.show_smooth(raw, smooth, ((item, None) for item in items))
        rising = estimate.rising[last] if view.method == ISOTONIC else _cut(raw, view.method)
        return view.show(raw, ((item, None) for item in items), rising)


def _cut(raw: Measured, method: str) -> Floats | None:
    return None if method == "none" else process(raw.value, method).values
