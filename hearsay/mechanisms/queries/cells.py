"""Single cells: one of them, all of them, the most frequent ones.

Post-processing: `clip` cuts every share; `norm-sub` and `simplex` are about single cells. Not about sums: the bias of
the cells adds up, where ranges were measured much better (haar, 1024 cells, 100,000 reports, epsilon 1.1: the sums'
error is 6.1 times the raw cdf's, the mean of 40 runs).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.estimates.estimate import Points
from hearsay.mechanisms.estimates.postprocess import METHODS, process
from hearsay.mechanisms.queries.answer import Answer, in_whole_bins
from hearsay.mechanisms.queries.example import LINE, ON_A_LINE, Example
from hearsay.mechanisms.queries.query import Query
from hearsay.mechanisms.queries.stretches import whole_number
from hearsay.mechanisms.queries.view import View

_METHODS = frozenset(METHODS) - {"none"}


def show_cells(estimate: Any, view: View, cells: NDArray[np.int64]) -> list[Answer]:
    """The share of each cell, by row-major index."""
    names = (estimate.domain.name(index) for index in cells.tolist())
    if view.method == "none":
        return view.show(estimate.points(cells), names)
    return view.show(estimate.points(cells), names, process(_all_shares(estimate), view.method).values[cells])


def _all_shares(estimate: Any) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = estimate.points(np.arange(estimate.domain.size, dtype=np.int64)).value
    return shares


@dataclass(frozen=True)
class Point(Query):
    """The share of one cell."""

    cell: int

    NAME, GRAMMAR = "point", "point V"
    HELP = "the share of one value; on a grid one value for each axis"
    NEEDS, WORDS, METHODS = Points, (1, None), _METHODS
    EXAMPLES = (Example(LINE, ON_A_LINE, "point 1", [1 / 2], [1]),)
    PREDICTED = "point"

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        return cls(domain.locate(words))

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        answers = show_cells(estimate, view, np.array([self.cell], dtype=np.int64))
        parts = (answers[0].item, *(answers[0].cell or {}).values())
        return in_whole_bins(answers) if any(isinstance(part, list) for part in parts) else answers


@dataclass(frozen=True)
class Frequencies(Query):
    """The share of every cell."""

    NAME, GRAMMAR = "frequencies", "frequencies"
    HELP = "the share of every value, in domain order"
    NEEDS, MANY, METHODS = Points, True, _METHODS
    EXAMPLES = (Example(LINE, ON_A_LINE, "frequencies", [1 / 6, 1 / 2, 0.0, 1 / 3], [0, 1, 2, 3]),)
    PREDICTED = "point"

    @classmethod
    def unsuited(cls, domain: Domain) -> str | None:
        return f"query {cls.NAME} lists every value: {domain.UNLISTED}" if domain.UNLISTED else None

    def answers(self, domain: Domain) -> int:
        return domain.size

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return show_cells(estimate, view, np.arange(estimate.domain.size, dtype=np.int64))


@dataclass(frozen=True)
class Top(Query):
    """The cells with the largest shares."""

    wanted: int

    NAME, GRAMMAR = "top", "top K"
    HELP = "the K most frequent values, by their raw shares"
    NEEDS, WORDS, MANY, METHODS = Points, (1, 1), True, _METHODS
    EXAMPLES = (Example(LINE, ON_A_LINE, "top 2", [1 / 2, 1 / 3], [1, 3]),)
    PREDICTED, VARIES = "point", True

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        return cls(whole_number(words[0], cls.NAME))

    def answers(self, domain: Domain) -> int:
        return min(self.wanted, domain.size)

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        # By the raw values: no method changes their order, and those it makes equal stay apart.
        return show_cells(estimate, view, _largest(_all_shares(estimate), self.wanted))

    def settled(self, one: Any, other: Any) -> Query:
        # By the sum of both sides: those that one side ranks high by chance would seem to have changed.
        return Chosen(tuple(_largest(_all_shares(one) + _all_shares(other), self.wanted).tolist()))


@dataclass(frozen=True)
class Chosen(Query):
    """The shares of given cells; no verb asks for it."""

    cells: tuple[int, ...]

    NAME, GRAMMAR, HELP = Top.NAME, Top.GRAMMAR, Top.HELP
    NEEDS = Points

    def answers(self, domain: Domain) -> int:
        return len(self.cells)

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return show_cells(estimate, view, np.array(self.cells, dtype=np.int64))


def _largest(values: NDArray[np.float64], wanted: int) -> NDArray[np.int64]:
    """Cells of the largest values, largest first, equal ones in domain order; only candidates are sorted.

    Equal counts become shares that differ in the last digits, differently on each processor, so 12 decimals count.
    """
    falling = np.where(np.isnan(values), np.inf, -np.round(values, 12))
    if wanted < falling.size:
        last = np.partition(falling, wanted - 1)[wanted - 1]
        candidates = np.flatnonzero(falling <= last)
    else:
        candidates = np.arange(falling.size)
    return candidates[np.argsort(falling[candidates], kind="stable")][:wanted].astype(np.int64)
