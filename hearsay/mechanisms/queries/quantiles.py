"""Quantiles in the domain's own units, each with a 95% band of the value and the standard error of its rank."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from hearsay.mechanisms.domains.axis import Axis
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.domains.numbers import number
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Z95, Floats, Ranges
from hearsay.mechanisms.estimates.postprocess import ISOTONIC, SMOOTH
from hearsay.mechanisms.queries.answer import Answer, known
from hearsay.mechanisms.queries.example import LINE, ON_A_LINE, Example
from hearsay.mechanisms.queries.query import Query
from hearsay.mechanisms.queries.ranges import no_line
from hearsay.mechanisms.queries.view import View


@dataclass(frozen=True)
class Quantile(Query):
    """For every rank q the first value at or below which a share q of the reports lies."""

    ranks: tuple[str, ...]  # as texts: an answer names its rank as it was asked

    NAME, GRAMMAR = "quantile", "quantile Q..."
    HELP = "the values below which shares Q of the reports lie, in the domain's units"
    NEEDS, WORDS, METHODS = Ranges, (1, None), frozenset({ISOTONIC, SMOOTH})
    PREDICTED, RANKED, VARIES = "range", True, True
    OWN_UNIT = "whose values are in the domain's units"
    EXAMPLES = (Example(LINE, ON_A_LINE, "quantile 0.5 0.9", [1.0, 3.0], [1, 3]),)

    @classmethod
    def unsuited(cls, domain: Domain) -> str | None:
        return no_line(cls.NAME, domain)

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        return cls(tuple(words))

    def answers(self, domain: Domain) -> int:
        return len(self.ranks)

    @cached_property
    def numbers(self) -> Floats:
        """The ranks as numbers."""
        return np.array([_rank(text) for text in self.ranks])

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        (axis,) = estimate.domain.axes
        numbers = self.numbers
        bound = estimate.rank_bound()
        answers = [
            replace(raw, rank_bound=bound)
            for text, *quantile in zip(self.ranks, *estimate.quantiles(numbers), strict=True)
            for raw in [_answer(axis, text, *quantile)]
        ]
        if view.method == "none":
            return answers
        view = view.after_guard(estimate)
        if view.method == SMOOTH:
            smooth = zip(self.ranks, *estimate.smooth.quantiles(numbers), answers, strict=True)
            return [
                replace(
                    _answer(axis, text, cell, first, last, error),
                    postprocess=SMOOTH,
                    raw=raw.value,
                    stderr=raw.stderr,
                )
                for text, cell, first, last, error, raw in smooth
            ]
        cells = np.searchsorted(estimate.rising, numbers).clip(max=axis.size - 1)
        return [
            replace(
                raw,
                value=_value(axis, cell),
                item=axis.item(cell),
                postprocess=view.method,
                raw=raw.value,
                note=view.note,
            )
            for raw, cell in zip(answers, cells.tolist(), strict=True)
        ]

    def population(self, estimate: Any, view: View) -> list[Answer]:
        # To the noise of the reports comes the error of drawing the devices: n Var of the share at rank q is q(1-q).
        (axis,) = estimate.domain.axes
        answers = []
        for text, rank in zip(self.ranks, self.numbers[:, None], strict=True):
            estimate.quantiles(rank)  # refuses where the reports leave parts of the distribution unknown
            inversion = estimate.inversion.with_error(np.sqrt(rank * (1 - rank) / max(estimate.reports, 1)), estimate.z)
            answers.append(_answer(axis, text, *(column[0] for column in inversion.quantiles(rank))))
        return answers


def _answer(axis: Axis, rank: str, cell: np.int64, first: np.int64, last: np.int64, rank_stderr: np.float64) -> Answer:
    value = _value(axis, int(cell))
    band = float(axis.units(int(first))), float(axis.units(int(last) + axis.continuous))
    return Answer(
        f"quantile {rank}",
        value,
        known((band[1] - band[0]) / (2 * Z95)),
        axis.item(int(cell)),
        band=band,
        rank_stderr=known(rank_stderr),
        interval=band,
    )


def _value(axis: Axis, cell: int) -> float:
    """The value shown for a cell; for a bin its middle, since the quantile may lie anywhere in it."""
    return float(axis.units(cell + 0.5 if axis.continuous else cell))


def _rank(text: str) -> float:
    rank = number(text)
    if not 0 < rank < 1:
        raise QueryError(what="quantile", expected="a number above 0 and below 1", got=text)
    return rank
