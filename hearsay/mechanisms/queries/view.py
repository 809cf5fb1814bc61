"""How a query sees an estimate: the raw unbiased shares and, where it was asked for, what post-processing made of them.

Standard errors and intervals always belong to the raw values: processed values are biased, and no interval around them
is known to hold.

clip               every share
norm-sub, simplex  single cells. Not sums: the bias of the cells adds up, where ranges were measured much better
                   (haar, 1024 cells, 100,000 reports, epsilon 1.1: the sums' error is 6.6 times the raw cdf's)
isotonic           cumulative shares on one axis, and ranges and quantiles from them
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Estimate, Floats, Measured
from hearsay.mechanisms.estimates.postprocess import ISOTONIC, NAMES, isotonic, process
from hearsay.mechanisms.estimates.ranges import RangeEstimate
from hearsay.mechanisms.estimates.simultaneous import critical_value
from hearsay.mechanisms.queries.answer import Answer, known

CELL_QUERIES = ("point", "frequencies", "top")
SUM_QUERIES = ("range", "prefix", "cdf")
VECTOR_QUERIES = ("frequencies", "top", "cdf")
DEFINED = {
    "clip": (*CELL_QUERIES, *SUM_QUERIES),
    "norm-sub": CELL_QUERIES,
    "simplex": CELL_QUERIES,
    ISOTONIC: (*SUM_QUERIES, "quantile"),
}
CONFIDENCE, TOGETHER = 0.95, "sidak"  # of intervals that hold for all cells at once
Ends = NDArray[np.int64]


class Seen(NamedTuple):
    """Raw shares with their standard errors, and the processed ones if there are any."""

    raw: Measured
    processed: Floats | None


@dataclass(frozen=True)
class Shares:
    """An estimate with what was asked beyond it: a method, a scale, intervals that hold together."""

    estimate: Estimate
    method: str = "none"
    scale: float = 1.0
    simultaneous: bool = False

    @property
    def domain(self) -> Domain:
        return self.estimate.domain

    @cached_property
    def processed(self) -> Floats:
        """Every cell after the method."""
        return process(self.estimate.estimate.reshape(-1), self.method).values

    @cached_property
    def rising(self) -> Floats:
        """Cumulative shares that never fall."""
        estimate = self.estimate
        return isotonic(estimate.prefix_values() if isinstance(estimate, RangeEstimate) else estimate.cdf().value)

    def points(self, cells: Ends) -> Seen:
        """Single cells, by row-major index."""
        return Seen(self.estimate.points(cells), None if self.method == "none" else self.processed[cells])

    def ranges(self, low: Ends, high: Ends) -> Seen:
        """Inclusive ranges, shape (queries, axes)."""
        raw = self.estimate.ranges(low, high)
        if self.method != ISOTONIC:
            return Seen(raw, self._cut(raw))
        before = np.concatenate([[0.0], self.rising])
        return Seen(raw, before[high[:, 0] + 1] - before[low[:, 0]])

    def cdf(self) -> Seen:
        """The share up to and including every cell."""
        raw = self.estimate.cdf()
        return Seen(raw, self.rising if self.method == ISOTONIC else self._cut(raw))

    def _cut(self, raw: Measured) -> Floats | None:
        return None if self.method == "none" else process(raw.value, self.method).values

    def show(self, text: str, seen: Seen, names: Iterable[tuple[Any, dict[str, Any] | None]]) -> list[Answer]:
        """Answers to `text`, one for each (item, cell)."""
        factor = factor_for(self.domain) if self.simultaneous else None
        raw, stderr = (column * self.scale for column in seen.raw)
        if seen.processed is None:
            return [
                Answer(text, known(value), known(error), item, cell, factor=factor)
                for (item, cell), value, error in zip(names, raw.tolist(), stderr.tolist(), strict=True)
            ]
        columns = ((seen.processed * self.scale).tolist(), raw.tolist(), stderr.tolist())
        return [
            Answer(text, known(value), known(error), item, cell, factor=factor, postprocess=self.method, raw=known(was))
            for (item, cell), value, was, error in zip(names, *columns, strict=True)
        ]


def method_for(asked: str | None, default: str, kind: str, estimate: Estimate) -> str:
    """The method for a kind of query: the one asked for, else the survey's where it is defined, else none."""
    if asked is not None:
        reason = _undefined(asked, kind, estimate)
        if reason is not None:
            raise QueryError(reason)
        return asked
    return default if _undefined(default, kind, estimate) is None else "none"


def factor_for(domain: Domain) -> float:
    """How many standard errors make intervals that hold for all cells at once."""
    return critical_value(domain.size, CONFIDENCE, TOGETHER)


def check_simultaneous(kind: str) -> None:
    """Refuse intervals that hold together where there is nothing to hold together."""
    if kind not in VECTOR_QUERIES:
        raise QueryError(f"simultaneous applies to {', '.join(VECTOR_QUERIES)}, got {kind}")


def _undefined(method: str, kind: str, estimate: Estimate) -> str | None:
    """Why a method has no meaning for a kind of query on this estimate."""
    if method not in NAMES:
        return f"postprocess must be one of {', '.join(NAMES)}, got {method!r}"
    if method == "none":
        return None
    if kind not in DEFINED[method]:
        return f"postprocess {method} applies to {', '.join(DEFINED[method])}, got {kind}"
    if method == ISOTONIC and len(estimate.domain.axes) > 1:
        return f"postprocess {method} needs one axis, this domain has {len(estimate.domain.axes)}"
    if method != "clip" and not np.isfinite(estimate.estimate).all():
        return f"postprocess {method} needs a share for every cell, some are unknown yet"
    return None
