"""Why cells that were made to sum to one are not added up: the error of such sums against the raw cumulative shares."""

from typing import Any

import numpy as np

from hearsay.mechanisms import build
from hearsay.mechanisms.domains.shapes import shares as shape_shares
from hearsay.mechanisms.estimates.postprocess import process
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.experiments.output import Result

CELLS, DEVICES, EPSILON = 1024, 100_000, 1.1


def projection(runs: int, generator: np.random.Generator) -> Result:
    """`simplex` on normal data under `haar`: the cells gain, their sums lose."""
    mechanism: Any = build({"mechanism": "haar", "epsilon": EPSILON, "domain": {"kind": "ordinal", "size": CELLS}})
    shares = shape_shares("normal", CELLS)
    of_cells, of_sums = [], []
    for _ in range(runs):
        people = generator.choice(CELLS, DEVICES, p=shares)
        truth = np.bincount(people, minlength=CELLS) / DEVICES
        reports = mechanism.perturb(people, seeded(int(generator.integers(2**62))))
        estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), reports))
        projected = process(estimate.estimate, "simplex").values
        of_cells.append(_error(projected, truth) / _error(estimate.estimate, truth))
        of_sums.append(_error(np.cumsum(projected), np.cumsum(truth)) / _error(estimate.cdf().value, np.cumsum(truth)))
    rows = [
        [name, f"{np.mean(ratios):.2f}", f"{min(ratios):.2f}", f"{max(ratios):.2f}"]
        for name, ratios in (("cells", of_cells), ("cumulative sums of cells", of_sums))
    ]
    result = Result(
        "projection",
        f"simplex against raw, haar, {CELLS:,} cells, {DEVICES:,} reports, epsilon {EPSILON:g}",
        ["root mean squared error of", "mean ratio", "least", "largest"],
        rows,
        f"{runs} runs of normal data",
    )
    result.expect(float(np.mean(of_cells)) < 0.5, "the projection should halve the cells' error")
    result.expect(float(np.mean(of_sums)) > 2, "sums of projected cells should lose")
    return result


def _error(values: Any, truth: Any) -> float:
    return float(np.sqrt(((values - truth) ** 2).mean()))
