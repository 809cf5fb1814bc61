"""Sums of cells: with coefficients of one's own, by a weight, and the area under a curve."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.domains.numbers import number
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Sums, Weighted
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.queries.auc import NO_LABEL, area_sampling, area_under_curve, label_axis
from hearsay.mechanisms.queries.example import Example
from hearsay.mechanisms.queries.query import Query, within
from hearsay.mechanisms.queries.ranges import Range, arrays
from hearsay.mechanisms.queries.view import View

LARGEST_COEFFICIENT = 1e9
_GRID = {"kind": "grid", "axes": [{"name": "value", "size": 4}, {"name": "weight", "size": 3}]}
_WEIGHTS = {"mechanism": "metric-l1", "epsilon": 2.0, "domain": _GRID, "options": {"weights": "private"}}
_HISTOGRAM = {"mechanism": "laplace-histogram", "epsilon": 2.0, "domain": {"kind": "categorical", "size": 4}}
_LABELLED = {"kind": "grid", "axes": [{"name": "score", "size": 4}, {"name": "label", "size": 2}]}
_SCORES = {"mechanism": "haar", "epsilon": 3.0, "domain": _LABELLED}


@dataclass(frozen=True)
class WeightedRange(Range):
    """The mean of weight x [value in range]."""

    NAME, GRAMMAR = "weighted", "weighted A B"
    HELP = "the mean over all reports of the weight, where the value is in A..B; takes what `range` takes"
    NEEDS = Weighted
    METHODS: ClassVar[frozenset[str]] = frozenset()
    EXAMPLES = (Example(_WEIGHTS, [(0, 2), (1, 1), (2, 2), (3, 0)], "weighted 1 3", [3 / 4], [[1, 3]]),)

    def _shares(self, estimate: Any, view: View) -> list[Answer]:
        return view.show(estimate.weighted(*arrays(self.ends)), [estimate.domain.covered(self.ends)])

    def sampling(self, estimate: Any, answers: Sequence[Answer]) -> Sequence[float]:
        # Only sums of weights are known, not their spread: the largest that weights between the ends can have.
        least, most = estimate.scores.ends
        return [within(answer.value, min(least, 0.0), max(most, 0.0)) for answer in answers]


@dataclass(frozen=True)
class Linear(Query):
    """The survey's workload, whose rows are numbered from 1 as in its file, or one sum with given coefficients."""

    coefficients: tuple[float, ...]

    NAME, GRAMMAR = "linear", "linear [C...]"
    HELP = "the survey's own workload, or the sum of all cells with one coefficient each"
    NEEDS, WORDS = Sums, (0, None)
    EXAMPLES = (Example(_HISTOGRAM, [0, 1, 1, 1, 3, 3], "linear 1 0 0 2", [1 / 6 + 2 / 3]),)

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        if words and len(words) != domain.size:
            raise QueryError(f"query linear needs {domain.size} coefficients, one per cell, got {len(words)}")
        return cls(tuple(_coefficient(text) for text in words))

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        if self.coefficients:
            return view.show(estimate.sums(np.array([self.coefficients])), [(None, None)])
        seen = estimate.sums()
        return view.show(seen, ((row, None) for row in range(1, len(seen.value) + 1)))

    def settled(self, one: Any, other: Any) -> Query:
        if not self.coefficients and not np.array_equal(getattr(one, "workload", 0), getattr(other, "workload", 0)):
            raise QueryError("the two surveys have different workloads; ask for linear with one coefficient per cell")
        return self

    def sampling(self, estimate: Any, answers: Sequence[Answer]) -> Sequence[float]:
        rows = np.array([self.coefficients]) if self.coefficients else estimate.workload
        largest = [within(each.value, row.min(), row.max()) for each, row in zip(answers, rows, strict=True)]
        try:
            squares = estimate.sums(rows**2).value
        except QueryError:  # the strategy tells these sums and not those of their squares
            return largest
        values = np.array([answer.value for answer in answers], dtype=np.float64)
        return [float(each) for each in np.clip(squares - values**2, 0.0, largest)]


@dataclass(frozen=True)
class Auc(Query):
    """The area under the curve of a labelled score."""

    NAME, GRAMMAR = "auc", "auc"
    HELP = "the chance that a device with the second label scores above one with the first"
    NEEDS = Sums
    OWN_UNIT = "which is a chance and no share of the reports"
    EXAMPLES = (Example(_SCORES, [(0, 0), (1, 0), (1, 1), (3, 1)], "auc", [7 / 8]),)  # of four pairs, one is tied

    @classmethod
    def unsuited(cls, domain: Domain) -> str | None:
        return None if label_axis(domain) is not None else NO_LABEL

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return view.show(area_under_curve(estimate), [(None, None)])

    def sampling(self, estimate: Any, answers: Sequence[Answer]) -> Sequence[float]:
        return [area_sampling(estimate)]


def _coefficient(text: str) -> float:
    coefficient = number(text)
    if not abs(coefficient) <= LARGEST_COEFFICIENT:
        raise QueryError(what="coefficient", expected=f"a number of at most {LARGEST_COEFFICIENT:g} in size", got=text)
    return coefficient
