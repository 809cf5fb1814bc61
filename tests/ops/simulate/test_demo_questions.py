"""`simulate --repeat` on the demo's surveys and questions: coverage, and the planner's prediction."""

import numpy as np
import pytest

from hearsay.ops.demo.scene import demo_surveys
from hearsay.ops.simulate.comparing import repeat


@pytest.mark.slow
def test_the_demos_intervals_cover_and_their_widths_are_predicted() -> None:
    coverage, answered = 0.0, 0
    for demo in demo_surveys():
        people = demo.people[np.arange(20_000)]
        for row in repeat(demo.survey, people, demo.questions, 200, 6):
            if row.coverage is None or row.within is None:
                continue
            if not row.query.startswith("tree"):  # whose intervals are meant to hold in 90%
                coverage, answered = coverage + row.coverage, answered + 1
            assert row.predicted == pytest.approx(row.within, rel=0.2 if "quantile" in row.query else 0.1), row
    assert 0.93 <= coverage / answered <= 0.985
