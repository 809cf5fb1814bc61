"""Intervals of what is not known: docs/reference/queries.md promises all shares there are, whatever the question."""

import numpy as np
import pytest

from hearsay import simulate
from hearsay.mechanisms.estimates.intervals import between

SURVEY = {
    "name": "few",
    "mechanism": "haar",
    "epsilon": 1.1,
    "domain": {"kind": "ordinal", "low": 34.0, "high": 42.0, "bins": 80},
}


@pytest.mark.parametrize("question", ["point 35", "range 35.3 35.4", "prefix 36", "frequencies", "top 3", "cdf"])
def test_a_level_without_reports_leaves_all_shares_open(question: str) -> None:
    answers = simulate(SURVEY, [35.3, 42.0, 34.0], seed=3).ask(question)
    open_ones = [answer for answer in answers if answer.stderr is None]
    assert open_ones, "three reports tell nothing about most levels"
    assert {(answer.low, answer.high) for answer in open_ones} == {(0.0, 1.0)}


def test_what_is_known_keeps_its_interval_beside_what_is_not() -> None:
    value, stderr = np.array([0.5, 0.5]), np.array([0.1, np.inf])
    found = between(value, stderr, value - 0.3, value + 0.3)
    assert found.low is not None
    assert found.high is not None
    assert found.low.tolist() == pytest.approx([0.2, 0.0])
    assert found.high.tolist() == pytest.approx([0.8, 1.0])
