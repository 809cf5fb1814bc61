"""Events that distinguish two values, and the loss that an event's two frequencies prove.

Nothing here depends on how a mechanism works: the events come from its output alone.
"""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from hearsay.mechanisms import Mechanism, Reports
from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.layout import length_of, select
from hearsay.ops.terminal.progress import steps_bar

Classes = NDArray[np.int64]
_SEEN_OFTEN = 16  # above this mean number of occurrences, each different report is a class of its own
_POSITIONS = 3  # positions of a vector that are combined: those whose digits differ most between two values


class Distinguisher:
    """Sorts reports of several values into classes that differ between two of them.

    If there are few different reports, each is a class. Vectors are classed by the positions that differ most, other
    reports by the estimates of the two values that each report alone gives.
    """

    def __init__(self, mechanism: Mechanism, drawn: dict[int, Reports], learn: slice) -> None:
        self._mechanism, self._drawn, self._learn = mechanism, drawn, learn

    def classes(self, one: int, other: int) -> tuple[Classes, Classes]:
        """The class of every report of two values, as small integers; chosen on the half to learn from."""
        layout = self._mechanism.layout
        together = layout.concatenate([self._drawn[one], self._drawn[other]])
        ones = length_of(self._drawn[one])
        seen_often = layout.outcomes * _SEEN_OFTEN <= self._learn.stop - self._learn.start
        if layout.has_vectors and not seen_often:
            keys = _telling_positions(self._mechanism, together, ones, self._learn)
        elif seen_often or self._mechanism.listed_values() is not None:
            # Where the mechanism lists its values, no share of the estimate is a value's own.
            keys = _rows(together)
        else:
            keys = np.concatenate([self._likelihoods[one], self._likelihoods[other]])[
                :, [self._numbers[one], self._numbers[other]]
            ]
        number = _numbered(keys)
        return number[:ones], number[ones:]

    @cached_property
    def _numbers(self) -> dict[int, int]:
        return {value: number for number, value in enumerate(self._drawn)}

    @cached_property
    def _likelihoods(self) -> dict[int, NDArray[np.int64]]:
        """What each report, alone, makes the estimator say about every value attacked, to four significant digits.

        That is how like the estimate is to one without noise of a single device with that value: of cells the cell's
        own share.
        """
        mechanism = self._mechanism
        together = mechanism.layout.concatenate(list(self._drawn.values()))
        number = _numbered(_rows(together))
        first = np.unique(number, return_index=True)[1]
        likelihood = np.empty((first.size, len(self._drawn)))
        looks = [mechanism.exact(rows_of(mechanism, np.array([value]))) for value in self._drawn]
        pure = np.stack([look.arrays()["estimate"].reshape(-1) for look in looks])
        with steps_bar("estimating report by report", first.size) as step:
            for row, report in enumerate(first):
                state = mechanism.fold(mechanism.empty(), select(together, slice(int(report), int(report) + 1)))
                likelihood[row] = pure @ np.nan_to_num(mechanism.estimate(state).arrays()["estimate"].reshape(-1))
                step()
        scale = np.abs(likelihood).max() or 1.0
        rounded = np.round(likelihood / scale * 10_000).astype(np.int64)[number]
        return dict(zip(self._drawn, np.split(rounded, len(self._drawn)), strict=True))


def rows_of(mechanism: Mechanism, values: NDArray[np.int64]) -> Any:
    """Values by index, as `perturb` takes them: those the mechanism lists itself, else cells, or rows of cells."""
    listed = mechanism.listed_values()
    if listed is not None:
        return listed[values]
    domain: Any = mechanism.domain
    rows = np.stack(np.unravel_index(values, domain.shape), axis=1)
    return rows[:, 0] if isinstance(domain, Cells) and rows.shape[1] == 1 else rows


def _numbered(rows: NDArray[np.int64]) -> Classes:
    """Equal rows get equal small numbers."""
    number = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        column = column - column.min(initial=0)
        number = number * (int(column.max(initial=0)) + 1) + column
        number = np.unique(number, return_inverse=True)[1].reshape(-1)
    return number


def _rows(reports: Reports) -> NDArray[np.int64]:
    return np.concatenate([_flat(reports, name) for name in sorted(reports)], axis=1)


def _flat(reports: Reports, name: str) -> NDArray[np.int64]:
    return reports[name].reshape(length_of(reports), -1).astype(np.int64)


def _telling_positions(mechanism: Mechanism, together: Reports, ones: int, learn: slice) -> NDArray[np.int64]:
    """The variant, a small scalar, and the digits at the positions whose means differ most between the two values."""
    variants = mechanism.layout.variants
    vector = next(variant.vector for variant in variants if variant.vector is not None)
    digits = together[vector.name if mechanism.layout.selector is None else "bits"]
    if vector.bound == 2:
        digits = np.unpackbits(digits, axis=1, bitorder="little")
    first, second = digits[:ones][learn].mean(axis=0), digits[ones:][learn].mean(axis=0)
    positions = np.argsort(-np.abs(first - second))[:_POSITIONS]
    telling = digits[:, positions].astype(np.int64)
    if vector.bound > 2:
        telling = np.stack([_coarse(column, learn) for column in telling.T], axis=1)
    scalars = [_flat(together, name) for name in sorted(together) if together[name].ndim == 1]
    small = [column for column in scalars if column.max(initial=0) < 64]
    return np.concatenate([telling, *small], axis=1)


def _coarse(column: NDArray[np.int64], learn: slice) -> NDArray[np.int64]:
    """Which eighth of the numbers seen so far each number falls into."""
    edges = np.unique(np.quantile(column[learn], np.arange(1, 8) / 8))
    return np.searchsorted(edges, column, side="right").astype(np.int64)


def best_event(one: Classes, other: Classes, tail: float) -> NDArray[np.int64]:
    """The classes of the event with the greatest proved loss: those that are likeliest under the first value."""
    count = int(max(one.max(initial=0), other.max(initial=0))) + 1
    mine, theirs = np.bincount(one, minlength=count), np.bincount(other, minlength=count)
    order = np.argsort(-(mine + 0.5) / (theirs + 0.5), kind="stable")
    sure = lower_loss(np.cumsum(mine[order]), one.size, np.cumsum(theirs[order]), other.size, tail)
    return order[: int(np.argmax(sure)) + 1]


def lower_loss(
    hits: NDArray[np.int64], tries: int, other_hits: NDArray[np.int64], other_tries: int, tail: float
) -> NDArray[np.float64]:
    """A lower bound on ln(p/q) with confidence 1 - 2 tail, by exact Clopper-Pearson limits of p and of q."""
    hits, other_hits = np.asarray(hits, dtype=np.float64), np.asarray(other_hits, dtype=np.float64)
    least = np.where(hits > 0, betaincinv(np.maximum(hits, 1), tries - hits + 1, tail), 0.0)
    rest = np.maximum(other_tries - other_hits, 1)
    most = np.where(other_hits < other_tries, betaincinv(other_hits + 1, rest, 1 - tail), 1.0)
    with np.errstate(divide="ignore"):
        return np.log(least) - np.log(most)


def shown_loss(event: NDArray[np.int64], one: Classes, other: Classes, tail: float) -> float:
    """The loss that the other half of the reports proves for a chosen event; at least zero."""
    hits, other_hits = np.isin(one, event).sum(), np.isin(other, event).sum()
    return max(0.0, float(lower_loss(np.array([hits]), one.size, np.array([other_hits]), other.size, tail)[0]))


def half_confidence(confidence: float, pairs: int) -> float:
    """The tail probability of one limit for which all limits hold together."""
    return (1 - confidence) / (2 * max(pairs, 1))
