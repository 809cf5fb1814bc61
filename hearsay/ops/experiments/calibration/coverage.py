"""How often the intervals of every kind of query hold the truth, and the mean squared error in standard errors.

Kinds: the heaviest cell, cells with one to five holders, cells with none, ranges, prefixes and quantiles. An answer
that says it knows nothing (standard error infinite, interval the whole range) is counted apart: it is no answer.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from hearsay.mechanisms import Mechanism, build
from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.estimates.estimate import Floats, Measured, Ranges
from hearsay.ops.experiments.calibration.cases import Case, Counts
from hearsay.ops.experiments.calibration.draws import draw

KINDS = ("heavy", "rare", "empty", "range", "prefix", "quantile")
RANKS = np.arange(1, 10) / 10
_CELLS = 20  # of a kind that are looked at
_RANGES = 12
_ROUNDING = 1e-9


@dataclass
class Tally:
    """What was seen of one kind."""

    asked: int = 0
    answered: int = 0
    covered: int = 0
    squared: float = 0.0
    runs: int = 0

    def add(self, found: Measured, truth: Floats) -> None:
        """Answers of one run."""
        low, high = found.ends()
        known = np.isfinite(found.stderr)
        holds = (low <= truth + _ROUNDING) & (truth <= high + _ROUNDING)
        off = (found.value - truth)[known] / np.maximum(found.stderr[known], _ROUNDING)
        self.asked += truth.size
        self.answered += int(known.sum())
        self.covered += int((holds & known).sum())
        self.squared += float((np.minimum(np.abs(off), 1e3) ** 2).sum())

    def merge(self, other: "Tally") -> None:
        """Of another setting."""
        self.asked += other.asked
        self.answered += other.answered
        self.covered += other.covered
        self.squared += other.squared
        self.runs += other.runs

    @property
    def coverage(self) -> float:
        return self.covered / max(self.answered, 1)

    @property
    def z2(self) -> float:
        return self.squared / max(self.answered, 1)


@dataclass
class Measurement:
    """One case, by kind."""

    case: Case
    tallies: dict[str, Tally] = field(default_factory=dict)


def _mechanism(case: Case) -> Mechanism:
    """Planned once for all numbers of reports and all data."""
    return _built(replace(case, data="", reports=1))


@lru_cache(maxsize=64)
def _built(case: Case) -> Mechanism:
    return build(case.table())


def measure(case: Case, runs: int, seed: int) -> Measurement:
    """So many runs of one case."""
    mechanism, holders = _mechanism(case), case.holders()
    generator = np.random.default_rng([seed, case.size, case.reports, int(case.epsilon * 10)])
    asked = list(_questions(mechanism, holders, generator))
    result = Measurement(case, {kind: Tally(runs=runs) for kind, *_ in asked})
    cumulative = np.cumsum(holders) / holders.sum()
    line = _has_ranges(mechanism) and holders.size > 2
    if line:
        result.tallies["quantile"] = Tally(runs=runs)
    for _ in range(runs):
        estimate: Any = mechanism.estimate(draw(mechanism, holders, generator))
        for question, low, high, truth in asked:
            points = question in ("heavy", "rare", "empty")
            found = estimate.points(low) if points else estimate.ranges(low[:, None], high[:, None])
            result.tallies[question].add(found, truth)
        if line:
            _quantiles(estimate, cumulative, result.tallies["quantile"])
    return result


def _questions(
    mechanism: Mechanism, holders: Counts, generator: np.random.Generator
) -> Iterator[tuple[str, Counts, Counts, Floats]]:
    """Kind, first cells, last cells, and the truth."""
    n, size = holders.sum(), holders.size
    before = np.append(0.0, np.cumsum(holders) / n)
    of_kind = {
        "heavy": np.array([int(holders.argmax())]),
        "rare": np.flatnonzero((holders > 0) & (holders <= 5)),
        "empty": np.flatnonzero(holders == 0),
    }
    for kind, cells in of_kind.items():
        chosen = cells if cells.size <= _CELLS else generator.choice(cells, _CELLS, replace=False)
        if chosen.size:
            yield kind, chosen, chosen, holders[chosen] / n
    if size < 3 or not _has_ranges(mechanism):
        return
    ends = np.sort(generator.integers(0, size, (_RANGES, 2)), axis=1)
    low, high = ends[ends[:, 1] - ends[:, 0] < size - 1].T
    yield "range", low, high, before[high + 1] - before[low]
    high = np.unique(np.linspace(0, size - 2, _RANGES).astype(np.int64))
    yield "prefix", np.zeros_like(high), high, before[high + 1]


def _has_ranges(mechanism: Mechanism) -> bool:
    return issubclass(mechanism.ESTIMATE, Ranges) and isinstance(mechanism.domain, Cells) and mechanism.domain.is_line


def _quantiles(estimate: Any, cumulative: Floats, tally: Tally) -> None:
    """A cell in the band; the error in rank over its standard error."""
    found = estimate.quantiles(RANKS)
    true = np.searchsorted(cumulative, RANKS - _ROUNDING)
    tally.asked += RANKS.size
    known = np.isfinite(found.rank_stderr)
    tally.answered += int(known.sum())
    tally.covered += int((((found.low <= true) & (true <= found.high)) & known).sum())
