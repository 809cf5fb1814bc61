"""Sums of windows in which devices repeat their report: their intervals hold, and quantiles are refused."""

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.questions import answer, parse_text

WINDOWS, DEVICES, RUNS = 10, 2_000, 300
VALUES = np.repeat([0, 1, 2, 3], [800, 600, 400, 200])


def share(run: int, repeats: int) -> tuple[float, float]:
    """The interval of a cell's share where every device sent the same report in every window."""
    mechanism = build({"mechanism": "hrr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 4}})
    one = mechanism.fold(mechanism.empty(), mechanism.perturb(VALUES, seeded(run)))
    estimate = mechanism.estimate({name: WINDOWS * array for name, array in one.items()})
    object.__setattr__(estimate, "repeats", repeats)
    (found,) = answer(parse_text("point 1"), estimate)
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


def test_intervals_of_sums_hold() -> None:
    held = [low <= 0.3 <= high for low, high in (share(run, WINDOWS) for run in range(RUNS))]
    fresh = [low <= 0.3 <= high for low, high in (share(run, 1) for run in range(RUNS))]
    assert np.mean(held) >= 0.91  # 95% of 300, less three standard errors
    assert np.mean(fresh) < 0.7  # as if every report had been drawn afresh


def test_quantiles_of_sums_are_refused() -> None:
    mechanism = build({"mechanism": "haar", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 8}})
    estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(VALUES, seeded(1))))
    object.__setattr__(estimate, "repeats", 2)
    with pytest.raises(QueryError, match="name one window"):
        answer(parse_text("quantile 0.5"), estimate)
    assert answer(parse_text("range 0 3"), estimate)
