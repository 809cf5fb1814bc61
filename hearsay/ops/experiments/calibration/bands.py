"""How wide the bands of quantiles are on smooth data: over the central 95% of the quantiles' own spread.

A band has to hold as often as it says, and no band holds more often than one that is too wide. A point mass or peaks
need wide bands, a normal population does not. Where reports are so few that the quantiles themselves are spread over
a large part of the domain, there is nothing to compare with; where there are many cells to a report, the table shows
how wide bands are, but nothing is expected: a tree cannot tell then that its ends do not cut a point mass.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np

from hearsay.mechanisms import build
from hearsay.mechanisms.planning.drawn_states import draw
from hearsay.ops.experiments.calibration.cases import EPSILONS, RANGES, Counts
from hearsay.ops.experiments.calibration.coverage import RANKS
from hearsay.ops.experiments.output import Result

MOST = 2.0  # times the spread
LEAST = 0.93
_SIZES, _REPORTS = (255, 1000, 1 << 16), (2_000, 20_000)
_KNOWN = 4  # the quantiles' spread is at most such a part of the domain
_CELLS_A_REPORT = 16
_ROUNDING = 1e-9


def bands(mechanisms: tuple[str, ...], runs: int, seed: int) -> Iterator[Result]:
    """The table of those of the mechanisms that have ranges, if there are any."""
    chosen = [name for name in RANGES if name in mechanisms]
    if not chosen:
        return
    result = Result(
        "bands",
        "Bands of quantiles on normal data: mean width over the central 95% of the quantiles themselves",
        ["mechanism", "cells", "reports", *(f"epsilon {epsilon:g}" for epsilon in EPSILONS), "coverage"],
        [],
        f"mean over the deciles, {runs} runs; none where the quantiles' own spread is over a quarter of the domain; "
        f"at most {MOST:g} is expected where a report has at most {_CELLS_A_REPORT} cells; coverage in percent, over "
        "all epsilons",
    )
    for mechanism, size, reports in product(chosen, _SIZES, _REPORTS):
        ratios, covered = [], []
        for epsilon in EPSILONS:
            ratio, holds = _measure(mechanism, size, reports, epsilon, runs, seed)
            where = f"{mechanism}, {size} cells, {reports} reports, epsilon {epsilon:g}"
            if ratio is not None and size <= _CELLS_A_REPORT * reports:
                result.expect(ratio <= MOST, f"{where}: bands are {ratio:.2f} times as wide as the spread")
            result.expect(holds >= LEAST, f"{where}: {holds:.1%} of the bands hold")
            ratios.append("" if ratio is None else f"{ratio:.2f}")
            covered.append(holds)
        result.rows.append([mechanism, size, reports, *ratios, f"{100 * float(np.mean(covered)):.1f}"])
    yield result


def _measure(
    mechanism: str, size: int, reports: int, epsilon: float, runs: int, seed: int
) -> tuple[float | None, float]:
    """Width over spread, and the share of the bands that hold."""
    built = build({"mechanism": mechanism, "epsilon": epsilon, "domain": {"kind": "ordinal", "size": size}})
    holders, generator = normal(size, reports), np.random.default_rng([seed, size, reports, int(10 * epsilon)])
    true = np.searchsorted(np.cumsum(holders) / reports, RANKS - _ROUNDING)
    bands = [built.estimate(draw(built, holders, generator)).quantiles(RANKS) for _ in range(runs)]  # type: ignore[attr-defined]
    cell, low, high = (np.array(part) for part in list(zip(*bands, strict=True))[:3])
    # Few runs seldom reach as far as the true 2.5 and 97.5%: other ways to interpolate find too small a spread.
    least, most = np.quantile(cell, [0.025, 0.975], axis=0, method="median_unbiased")
    spread = most - least + 1
    ratio = float(((high - low + 1).mean(axis=0) / spread).mean())
    return (ratio if spread.max() * _KNOWN <= size else None), float(((low <= true) & (true <= high)).mean())


def normal(size: int, reports: int) -> Counts:
    """How many hold each cell: a normal population around 45% of the domain."""
    position = (np.arange(size) + 0.5) / size
    shares = np.exp(-0.5 * ((position - 0.45) / 0.12) ** 2)
    return np.random.default_rng(1).multinomial(reports, shares / shares.sum()).astype(np.int64)
