"""What `GET /api/plan` answers: its example, and its refusals."""

import numpy as np
import pytest

from hearsay.collector.describe import plan_document
from hearsay.collector.describe.plan_document import document
from hearsay.mechanisms import catalogue
from hearsay.mechanisms.errors import SpecificationError

LABELS = {"kind": ["categorical"], "size": ["64"], "users": ["3000"], "epsilon": ["1"], "mechanism": ["grr"]}
LINE = {"kind": ["ordinal"], "size": ["1024"], "users": ["2000"], "epsilon": ["1"], "mechanism": ["hierarchical"]}
BINS = {**LINE, "size": [], "low": ["0"], "high": ["1"], "query": ["range 0 0.5"]}


def shares(domain: dict[str, object], shape: str, count: int) -> np.ndarray:
    """The true shares of the simulated devices of the example."""
    built = catalogue.parse_domain(domain)
    people = built.simulated(shape, count, np.random.default_rng(plan_document._EXAMPLE_SEED))
    return np.bincount(people, minlength=built.size) / count


def test_the_truth_beside_the_most_frequent_values_is_their_own() -> None:
    example = document({**LABELS, "query": ["top 5"], "shape": ["zipf"]})["example"]
    truth = shares({"kind": "categorical", "size": 64}, "zipf", 3000)
    assert [each["truth"] for each in example] == pytest.approx([truth[each["item"]] for each in example])
    assert [each["truth"] for each in example] != sorted((each["truth"] for each in example), reverse=True)


def test_the_truth_beside_a_bar_of_a_histogram_is_that_of_the_bar() -> None:
    example = document({**LINE, "query": ["histogram"], "shape": ["zipf"]})["example"]
    truth = shares({"kind": "ordinal", "size": 1024}, "zipf", 2000)
    assert len(example) < 64
    for bar in example:
        first, last = bar["item"]
        assert bar["truth"] == pytest.approx(truth[first : last + 1].sum())
    assert sum(bar["truth"] for bar in example) == pytest.approx(1)


def test_an_example_in_which_no_text_is_detected_is_empty() -> None:
    question = {"kind": ["text"], "size": ["4"], "query": ["top 5"], "users": ["100"], "epsilon": ["1"]}
    assert document(question)["example"] == []


@pytest.mark.parametrize("bins", ["inf", "nan", "2.7"])
def test_a_number_of_bins_that_is_not_whole_is_refused(bins: str) -> None:
    with pytest.raises(SpecificationError, match="bins must be a whole number"):
        document({**BINS, "bins": [bins]})


def test_numbers_are_taken_as_people_write_them() -> None:
    question = {"kind": ["categorical"], "size": ["16"], "query": ["point 3"], "mechanism": ["grr"]}
    plain = document({**question, "users": ["40000"], "within": ["0.02"]})
    written = document({**question, "users": ["40,000"], "within": ["2%"]})
    assert written["rows"][0]["epsilon"] == plain["rows"][0]["epsilon"]
    assert document({**question, "users": ["4e4"], "within": ["2 %"]})["users"] == 40_000


def test_a_percentage_of_what_is_no_share_is_refused() -> None:
    question = {**LINE, "epsilon": [], "query": ["quantile 0.5"], "shape": ["zipf"], "within": ["2%"]}
    with pytest.raises(
        SpecificationError, match="within must be in the answer's own unit, which is no share, got '2%'"
    ):
        document(question)
