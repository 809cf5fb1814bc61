"""The quick form of `hearsay experiment planning`: every mechanism once, few surveys, wide bounds."""

import pytest

from hearsay.ops.experiments.planning.cases import EPSILONS, SHAPES, USERS, cases, every_mechanism
from hearsay.ops.experiments.planning.command import compared
from hearsay.ops.experiments.planning.summary import by_mechanism

SLOW = {"rappor", "channel", "laplace-histogram", "matrix", "lp", "wm", "hierarchical", "privkvm", "privkvm+"}


def test_every_mechanism_has_a_case_with_all_that_it_answers() -> None:
    assert {"grr", "haar", "hierarchical", "inp-ht", "privkvm", "mean", "block-hr", "channel"} <= set(every_mechanism())
    (haar, _) = cases("haar")
    assert {question.split()[0] for question in haar.questions} >= {
        "point",
        "range",
        "prefix",
        "quantile",
        "cdf",
        "top",
    }
    assert (len(SHAPES), len(USERS), len(EPSILONS)) == (3, 3, 3)


def test_predictions_hold_in_the_quick_form() -> None:
    result = compared([name for name in every_mechanism() if name not in SLOW], 12, False, True, 24)
    # Each is compared with the 95% interval of the median of twelve simulated widths.
    off = [row for row in result.rows if row[9]]
    assert len(off) <= len(result.rows) // 20, off


def test_the_page_has_one_row_for_every_mechanism() -> None:
    rows = [
        ["grr", "categorical", "point 1", "state", "0.990", "1.004", "88", 27, 0, 0, 200],
        ["grr", "categorical", "frequencies", "state", "0.995", "1.012", "90", 27, 1, 0, 200],
        ["grr", "categorical", "top 3", "surveys", "0.998", "1.001", "97", 27, 0, 0, 200],
        ["mean", "number", "mean", "state", "0.999", "1.001", "91", 27, 0, 0, 200],
    ]
    assert by_mechanism(rows).rows == [
        [
            "grr",
            "categorical",
            "point, frequencies",
            "0.990",
            "1.012",
            "top",
            "0.998",
            "1.001",
            "97-97%",
            1,
            0,
            81,
            200,
        ],
        ["mean", "number", "mean", "0.999", "1.001", "", "", "", "", 0, 0, 27, 200],
    ]


@pytest.mark.slow
def test_predictions_hold() -> None:
    assert compared(["haar", "grr", "privkv", "marg-ps"], 200, False, False, 24).failures == []
