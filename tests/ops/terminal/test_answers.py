"""Answers for people: one line for one answer, a table for many, as many digits as mean something."""

import pytest

from hearsay.mechanisms.catalogue import parse_domain
from hearsay.mechanisms.queries.answer import Answer
from hearsay.ops.terminal.answers import decimals_of, print_answers, rounded


def printed(
    capsys: pytest.CaptureFixture[str], *answers: Answer, scale: tuple[float, float] | None = None
) -> list[str]:
    print_answers("age (window all): 900 reports", list(answers), scale)
    return capsys.readouterr().out.splitlines()


def test_one_answer_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, Answer("range 300 500", 0.5667, 0.0079, [300, 500]))
    assert lines == ["range 300 500: 0.567 (0.551 to 0.582), 95%", "age (window all): 900 reports"]


def test_one_answer_to_a_question_for_a_list_names_its_item(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, Answer("top 3", 0.49, 0.145, "tea"))[0] == "top 3: tea 0.49 (0.21 to 0.77), 95%"
    assert printed(capsys, Answer("top 1", 0.49, 0.145, 1))[0] == "top 1: 1 0.49 (0.21 to 0.77), 95%"
    assert printed(capsys, Answer("point tea", 0.49, 0.145, "tea"))[0] == "point tea: 0.49 (0.21 to 0.77), 95%"


def test_no_answer_says_that_nothing_is_detected(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys)[0] == "nothing is detected: no share is significantly above 0"


def test_many_answers_have_the_question_as_title(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, Answer("top 2", 0.36974, 0.0096, "apple"), Answer("top 2", 0.125, 0.0098, "date"))
    assert lines == [
        "top 2: age (window all): 900 reports",
        "item   value  stderr    low   high",
        "──────────────────────────────────",
        "apple  0.370  0.0096  0.351  0.389",
        "date   0.125  0.0098  0.106  0.144",
    ]


def test_the_band_of_a_quantile_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    band = (22.0, 40.0)
    one = Answer("quantile 0.5", 29.0, 4.592, 29, band=band, rank_stderr=0.0287, interval=band)
    assert printed(capsys, one)[0] == "quantile 0.5: 29 (22 to 40), 95%"
    lines = printed(capsys, one, Answer("quantile 0.9", 61.0, 5.1, 61, band=(51.0, 71.0), interval=(51.0, 71.0)))
    assert lines[1].split() == ["query", "value", "stderr", "low", "high", "rank", "stderr"]


def test_thousands_are_grouped_alike(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, Answer("top 2", 17_780.2, 120.0, "a"), Answer("top 2", 8_897.4, 118.0, "b"))
    assert "17,780" in lines[3]
    assert "8,897" in lines[4]


def test_a_correlation_says_which_coefficient_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [{"first": "a", "second": "b"}, {"first": "a", "second": "c"}]
    names = ("pearson", "cramers-v")
    answers = [
        Answer("correlations", 0.5, 0.1, cell=pair, coefficient=name) for pair, name in zip(pairs, names, strict=True)
    ]
    lines = printed(capsys, *answers)
    assert "Pearson" in lines[3]
    assert "Cramer's V" in lines[4]
    assert [each.table()["coefficient"] for each in answers] == list(names)


def test_a_mean_outside_its_domain_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, Answer("mean psycho", -110.2, 80.0, "psycho"), scale=(1.0, 5.0))
    assert lines[0] == "mean psycho: -110 (1 to 5), 95%"
    assert "noise outweighs" in " ".join(lines[2:])
    inside = printed(capsys, Answer("mean psycho", 2.0, 0.1, "psycho"), scale=(1.0, 5.0))
    assert len(inside) == 2


def test_a_share_outside_0_to_1_beside_a_cut_interval_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    inside = Answer("conditional a given b", 0.4, 0.1, cell={"a": 0, "b": 0}, interval=(0.2, 0.61))
    below = Answer("conditional a given b", -0.05, 0.1, cell={"a": 1, "b": 0}, interval=(0.0, 0.15))
    assert "-0.05" in printed(capsys, inside, below)[4]
    assert "their intervals are cut to 0 to 1" in printed(capsys, inside, below)[-1]
    assert not any("note" in line for line in printed(capsys, inside, inside))
    assert not any("note" in line for line in printed(capsys, Answer("point 3", -0.01, 0.1, 3)))  # nothing is cut


def test_differences_are_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, Answer("mean", -0.4, 0.1, of=(2.0, 2.4), p_value=0.0001), scale=(1.0, 5.0))
    assert lines[0] == "mean: -0.40 (-0.60 to -0.20), 95%; 2.00 less 2.40; p 0.0001"


def test_what_has_no_interval_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, Answer("p", 0.53887, None))[0] == "p: 0.5389 (no interval is known)"


@pytest.mark.parametrize(("half", "decimals"), [(0.0155, 3), (0.0009, 5), (9.6, 1), (120.0, 0), (0.0, None)])
def test_an_interval_says_how_many_digits_mean_something(half: float, decimals: int | None) -> None:
    assert decimals_of(half) == decimals


def test_nothing_is_minus_nothing() -> None:
    assert rounded(-0.0001, 2) == "0.00"


@pytest.mark.parametrize(
    ("table", "bounds"),
    [
        ({"kind": "number", "low": 0, "high": 5}, (0, 5)),
        ({"kind": "count", "max": 12}, (0, 12)),
        ({"kind": "key-value", "keys": 3, "low": 1, "high": 5}, (1, 5)),
        ({"kind": "ordinal", "first": 3, "last": 9}, (3, 9)),
        ({"kind": "ordinal", "low": 40, "high": 200, "bins": 64}, (40, 200)),
        ({"kind": "categorical", "size": 4}, None),
    ],
)
def test_means_are_bounded_by_the_domain(table: dict[str, object], bounds: tuple[float, float] | None) -> None:
    assert parse_domain(table).mean_bounds == bounds
