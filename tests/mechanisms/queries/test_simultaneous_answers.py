"""Intervals that hold for all cells at once, where cells are rare."""

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.questions import answer, parse_text


@pytest.mark.parametrize(("name", "epsilon"), [("grr", 7.0), ("sue", 8.0)])
def test_row_5_rare_cells_are_covered_together_too(name: str, epsilon: float) -> None:
    """Row 5 of an attacker's list: 100 cells and 1,000 reports were covered in 64% (grr) and 85% (sue) of the runs."""
    size, n, runs = 100, 1_000, 200
    mechanism = build({"mechanism": name, "epsilon": epsilon, "domain": {"kind": "categorical", "size": size}})
    cells = np.minimum(np.random.default_rng(3).geometric(0.1, n) - 1, size - 1)
    truth, random, covered = np.bincount(cells, minlength=size) / n, seeded(22), 0
    for _ in range(runs):
        estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(cells, random)))
        answers = answer(parse_text("frequencies"), estimate, simultaneous=True)
        for each in answers:
            assert each.simultaneous is not None
            low, high = each.simultaneous
            assert low is not None
            assert high is not None
            assert low <= each.low <= each.high <= high, "never narrower than the interval of one cell"  # type: ignore[operator]
        low, high = np.array([each.simultaneous for each in answers]).T
        covered += bool(((low <= truth) & (truth <= high)).all())
    assert covered / runs > 0.93
