"""Every estimate names pictures whose questions it can answer."""

import json

import pytest

from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.questions import answer, parse_text
from tests.mechanisms.shared import ALL_CASES, Case, skewed_cells

KINDS = {"histogram", "cdf", "map", "bars", "keys", "tree", "table"}
OPEN = "leaves"  # a strategy or a matrix may leave some sums unknown, and says so


@pytest.mark.parametrize("case", ALL_CASES, ids=lambda case: case.name)
def test_the_questions_of_its_charts_are_answered(case: Case) -> None:
    mechanism = case.build()
    reports = mechanism.perturb(skewed_cells(mechanism, 3_000), seeded(5))
    estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), reports))
    charts = [chart.table() for chart in estimate.charts()]
    assert charts
    json.dumps(charts)  # as the interface sends them
    for chart in charts:
        assert chart["chart"] in KINDS
        for question in (chart["query"], chart.get("also")):
            if question is None:
                continue
            try:
                assert answer(parse_text(question), estimate)
            except QueryError as error:
                if OPEN not in str(error) and question != "auc":
                    raise
        if chart.get("resolution"):
            few = " ".join(["2"] * chart.get("axes", 1))
            assert len(answer(parse_text(f"{chart['query']} {few}"), estimate)) == 2 ** chart.get("axes", 1)
