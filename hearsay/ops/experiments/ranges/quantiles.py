"""Deciles of real flight times, from reports of every flight: Kulkarni's figure 5.5 and theorem 5 of Xiang et al."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms import build
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.metric.bounds import rank_bound
from hearsay.ops.experiments.flights import flight_package
from hearsay.ops.experiments.output import Result

RANKS = np.arange(1, 10) / 10
EPSILON = 1.1
COLUMNS = {"arr_delay": (-128.0, 896.0, 1024), "air_time": (0.0, 1024.0, 1024), "distance": (0.0, 8192.0, 8192)}
METHODS = ("hierarchical", "haar", "metric-l1")


def flights() -> dict[str, NDArray[np.float64]]:
    """Columns of the 336,776 flights that left New York in 2013, without those that lack the number."""
    table = flight_package().flights
    return {name: _known(table[name].to_numpy(dtype=np.float64)) for name in COLUMNS}


def _known(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values[np.isfinite(values)]


def deciles(quick: bool, random: Random) -> Result:
    """Nine deciles at once: error in the value, error in rank, and how often the intervals hold the truth."""
    runs = 3 if quick else 20
    result = Result(
        "deciles",
        f"Deciles of flights, epsilon {EPSILON:g}: largest error of nine, mean of {runs} runs",
        ["column", "devices", "bins", "method", "value error, bins", "rank error", "rank stderr", "bound", "covered"],
        [],
        "rank error: share of devices between the decile found and the true one; bound: theorem 5's 95% bound for "
        "metric-l1, whose epsilon is per bin and so protects much less; covered: intervals in bins that hold the true "
        "decile",
    )
    for column, values in flights().items():
        low, high, bins = COLUMNS[column]
        domain = {"kind": "ordinal", "low": low, "high": high, "bins": bins}
        for name in METHODS:
            mechanism = build({"mechanism": name, "epsilon": EPSILON, "domain": domain})
            cells = np.asarray(mechanism.domain.read({"value": np.clip(values, low, high)}))
            measured = [_one_run(mechanism, cells, random) for _ in range(runs)]
            value, rank, stderr, covered = (float(np.mean(part)) for part in zip(*measured, strict=True))
            bound = rank_bound(float(np.tanh(EPSILON / 2)), bins, cells.size)
            result.rows.append(
                [column, cells.size, bins, name, round(value, 2), round(rank, 5), round(stderr, 5), round(bound, 5),
                 f"{covered:.1%}"]
            )  # fmt: skip
            result.expect(rank < 5 * stderr, f"{column}, {name}: ranks off by {rank:.4f}")
            result.expect(covered > 0.8, f"{column}, {name}: intervals hold {covered:.0%} of the deciles")
    return result


def _one_run(mechanism: Any, cells: NDArray[np.int64], random: Random) -> tuple[float, float, float, float]:
    estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(cells, random)))
    measured = estimate.quantiles(RANKS)
    before = np.concatenate([[0.0], np.cumsum(np.bincount(cells, minlength=mechanism.domain.size)) / cells.size])
    true = np.searchsorted(before[1:], RANKS)
    # A cell holds a span of ranks; the found cell is right where the wanted rank lies in its span.
    missed = np.maximum(before[measured.cell] - RANKS, 0.0) + np.maximum(RANKS - before[measured.cell + 1], 0.0)
    covered = (measured.low <= true) & (true <= measured.high)
    return np.abs(measured.cell - true).max(), missed.max(), measured.rank_stderr.mean(), covered.mean()
