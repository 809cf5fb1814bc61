"""How often the intervals of every kind of query hold the truth, and the mean squared error in standard errors.

Kinds: the heaviest cell, cells with one to five holders, cells with none, ranges, prefixes and quantiles.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from hearsay.mechanisms import Mechanism
from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Floats, Measured, Ranges
from hearsay.mechanisms.planning.drawn_states import draw
from hearsay.ops.experiments.calibration.cases import Case, Counts
from hearsay.ops.experiments.calibration.tally import Measurement, Tally, planned

KINDS = ("heavy", "rare", "empty", "range", "prefix", "quantile")
RANKS = np.arange(1, 10) / 10
_CELLS = 20  # of a kind that are looked at
_RANGES = 12
TOGETHER_UP_TO = 1000  # cells: more than these take too long in every run
_ROUNDING = 1e-9


def measure(case: Case, runs: int, seed: int) -> Measurement:
    """So many runs of one case."""
    mechanism, holders = planned(case), case.holders()
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
            measured = estimate.points(low) if points else estimate.ranges(low[:, None], high[:, None])
            result.tallies[question].add(measured, truth)
        if holders.size <= TOGETHER_UP_TO:
            every = np.arange(holders.size)
            at_level = partial(points_at_level, estimate, every)
            result.add_together(estimate.points(every), at_level, holders / holders.sum())
        if line:
            _quantiles(estimate, cumulative, result.tallies["quantile"])
    return result


def points_at_level(estimate: Any, cells: Counts, z: float) -> Measured:
    """Shares with intervals of the level z."""
    measured: Measured = estimate.at_level(z).points(cells)
    return measured


def _questions(
    mechanism: Mechanism, holders: Counts, generator: np.random.Generator
) -> Iterator[tuple[str, Counts, Counts, Floats]]:
    """Kind, first cells, last cells, and the truth."""
    n, size = holders.sum(), holders.size
    before = np.append(0.0, np.cumsum(holders) / n)
    for kind, chosen in cells_by_kind(holders, generator).items():
        yield kind, chosen, chosen, holders[chosen] / n
    if size < 3 or not _has_ranges(mechanism):
        return
    ends = np.sort(generator.integers(0, size, (_RANGES, 2)), axis=1)
    low, high = ends[ends[:, 1] - ends[:, 0] < size - 1].T
    yield "range", low, high, before[high + 1] - before[low]
    high = np.unique(np.linspace(0, size - 2, _RANGES).astype(np.int64))
    yield "prefix", np.zeros_like(high), high, before[high + 1]


def cells_by_kind(holders: Counts, generator: np.random.Generator) -> dict[str, Counts]:
    """The fullest cell, some of one to five holders and some of none; kinds without any are left out."""
    of_kind = {
        "heavy": np.array([int(holders.argmax())]),
        "rare": np.flatnonzero((holders > 0) & (holders <= 5)),
        "empty": np.flatnonzero(holders == 0),
    }
    return {
        kind: cells if cells.size <= _CELLS else generator.choice(cells, _CELLS, replace=False)
        for kind, cells in of_kind.items()
        if cells.size
    }


def _has_ranges(mechanism: Mechanism) -> bool:
    return issubclass(mechanism.ESTIMATE, Ranges) and isinstance(mechanism.domain, Cells) and mechanism.domain.is_line


def _quantiles(estimate: Any, cumulative: Floats, tally: Tally) -> None:
    """A cell in the band; the error in rank over its standard error."""
    try:
        measured = estimate.quantiles(RANKS)
    except QueryError:  # a singular matrix leaves parts of the distribution open
        none = np.zeros(RANKS.size, dtype=np.bool_)
        return tally.count(none, none, none)
    true = np.searchsorted(cumulative, RANKS - _ROUNDING)
    known = np.isfinite(measured.rank_stderr)
    tally.count(known, known, (measured.low <= true) & (true <= measured.high))
