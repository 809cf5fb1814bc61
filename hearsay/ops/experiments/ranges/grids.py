"""Random rectangles on grids: tuples of levels asked as ranges need them, beside uniform ones and haar, measured."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms import build
from hearsay.mechanisms.exact.randomness import Random, seeded
from hearsay.mechanisms.ranges.planned_grid.sweeps import cumulative, sums_between
from hearsay.ops.experiments.output import Result
from hearsay.ops.terminal.progress import steps_bar

PEOPLE = 20_000
RECTANGLES = 2_000
CASES: tuple[tuple[tuple[int, ...], float], ...] = (
    *(((16, 16), epsilon) for epsilon in (0.2, 0.6, 1.1, 2.5, 5.0)),
    *((sizes, 1.1) for sizes in ((7, 9), (20, 30), (64, 64), (256, 256), (16, 16, 16))),
)
METHODS: dict[str, dict[str, Any]] = {
    "haar": {"mechanism": "haar"},
    "uniform": {"mechanism": "hierarchical", "options": {"levels": "uniform"}},
    "optimised": {"mechanism": "hierarchical"},
}
NOTE = (
    "expected: by the formula, for evenly filled cells; measured: root of the mean squared error of random rectangles "
    "over all runs, people evenly spread; saved: expected error of optimised tuples below the better of the others"
)


def grids(runs: int, generator: np.random.Generator) -> Result:
    """Expected and measured errors of all methods."""
    result = Result(
        "grids",
        f"Random rectangles on grids, {PEOPLE:,} reports: root of the mean squared error x 1000, {runs} runs",
        ["cells", "epsilon", *(f"{name}, {kind}" for name in METHODS for kind in ("expected", "measured")), "saved"],
        [],
        NOTE,
    )
    with steps_bar("grids", len(CASES)) as step:
        for sizes, epsilon in CASES:
            people = generator.integers(0, sizes, (PEOPLE, len(sizes)))
            ends = np.sort(generator.integers(0, sizes, (RECTANGLES, 2, len(sizes))), axis=1)
            random = seeded(int(generator.integers(2**32)))
            expected, measured = {}, {}
            for name, table in METHODS.items():
                mechanism = build({**table, "epsilon": epsilon, "domain": {"kind": "grid", "sizes": list(sizes)}})
                expected[name] = 1000 * mechanism.predicted_stderr(PEOPLE)["range"]
                measured[name] = 1000 * _measured(mechanism, people, ends, runs, random)
            best = min(expected[name] for name in METHODS if name != "optimised")
            saved = 1 - expected["optimised"] / best
            where = "x".join(map(str, sizes))
            errors = [round(kind[name], 2) for name in METHODS for kind in (expected, measured)]
            result.rows.append([where, epsilon, *errors, f"{saved:.1%}"])
            # One run's error varies by 15% of itself and less.
            off = measured["optimised"] / expected["optimised"] - 1
            result.expect(abs(off) < 1.0 / np.sqrt(runs), f"{where}, epsilon {epsilon}: measured is off by {off:.1%}")
            result.expect(saved > 0, f"{where}, epsilon {epsilon}: no better than what was there")
            step()
    return result


def _measured(mechanism: Any, people: NDArray[np.int64], ends: NDArray[np.int64], runs: int, random: Random) -> float:
    """Root of the mean squared error of rectangles, first and last cells in `ends`."""
    truth = np.zeros(mechanism.domain.shape)
    np.add.at(truth, tuple(people.T), 1 / len(people))
    squared = 0.0
    for _ in range(runs):
        state = mechanism.fold(mechanism.empty(), mechanism.perturb(people, random))
        errors = cumulative(mechanism.estimate(state).estimate - truth)
        squared += float((sums_between(errors, ends[:, 0], ends[:, 1] + 1) ** 2).mean())
    return float(np.sqrt(squared / runs))
