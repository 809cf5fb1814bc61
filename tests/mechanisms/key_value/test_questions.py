"""Questions to key-value surveys, the automatic choice, and warnings."""

from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.planning.auto import resolve
from hearsay.mechanisms.questions import answer, parse_text
from tests.mechanisms.key_value.people import people

FILMS = {"kind": "key-value", "keys": ["ikiru", "psycho", "stalker"], "low": 1, "high": 5, "ordered": True}


def found(options: dict | None = None, domain: dict | None = None, mechanism: str = "privkv") -> Any:
    made = build(
        {"mechanism": mechanism, "epsilon": 3.0, "domain": {**FILMS, **(domain or {})}, "options": options or {}}
    )
    pairs = people([0.2, 0.5, 0.9], [0.5, -0.5, 0.0], 60_000)
    return made.estimate(made.fold(made.empty(), made.perturb(pairs, seeded(1)))), made.exact(pairs)


def ask(estimate: Any, text: str) -> list[Any]:
    return answer(parse_text(text), estimate)


@pytest.mark.parametrize(
    ("mechanism", "options"),
    [("privkv", {}), ("privkv", {"bins": 16}), ("pckv-grr", {"padding": 3}), ("hierarchical", {"padding": 3})],
)
def test_answers_are_near_the_truth_and_in_own_units(mechanism: str, options: dict) -> None:
    estimate, exact = found(options, mechanism=mechanism)
    for text in ("point psycho", "frequencies", "top 2", "mean psycho", "means", "mean psycho stalker"):
        for one, true in zip(ask(estimate, text), ask(exact, text), strict=True):
            slack = 0.3 if options.get("bins") else 0.0
            assert one.item == true.item or text == "top 2"
            assert abs(one.value - true.value) < 5 * one.stderr + slack, text
            assert one.low <= one.value <= one.high
    assert ask(exact, "mean ikiru")[0].value == pytest.approx(4.0)
    assert [one.item for one in ask(estimate, "means")] == ["ikiru", "psycho", "stalker"]


@pytest.mark.parametrize("ordered", [True, False])
def test_a_key_with_spaces_needs_no_quotes(ordered: bool) -> None:
    _, exact = found(domain={"keys": ["Tokyo Story", "Ikiru", "Dr. Strangelove or"], "ordered": ordered})
    for verb in ("mean", "point"):
        assert ask(exact, f"{verb} Tokyo Story")[0].item == "Tokyo Story"
        assert ask(exact, f"{verb} Dr. Strangelove or")[0].item == "Dr. Strangelove or"
    with pytest.raises(QueryError, match="mean needs one value, got 3; quote a label with spaces: mean 'Dr"):
        ask(exact, "mean dr. strangelove or")


def test_quantiles_name_the_key_last() -> None:
    estimate, _ = found({"bins": 16})
    low, middle = ask(estimate, "quantile 0.25 0.5 stalker")
    assert (low.query, low.item) == ("quantile 0.25", "stalker")
    assert low.value <= middle.value
    assert middle.low <= 3.0 <= middle.high
    for text in ("quantile stalker", "quantile 0.5", "quantile 1.5 stalker", "quantile 0.5 nosferatu"):
        with pytest.raises(QueryError):
            ask(estimate, text)


def test_refusals_are_one_line() -> None:
    estimate, _ = found()
    for text, says in (
        ("quantile 0.5 stalker", r"use privkv, with bins above 2 below \[options\] in the survey's file$"),
        ("mean nosferatu", "must be one of"),
        ("range ikiru psycho", "ranges of items"),
        ("cdf", "ordinal"),
    ):
        with pytest.raises(QueryError, match=says):
            ask(estimate, text)
    with pytest.raises(QueryError, match="count does not apply"):
        answer(parse_text("mean psycho"), estimate, count=True)


def test_several_values_have_an_answer_each() -> None:
    made = build(
        {
            "mechanism": "privkv",
            "epsilon": 3.0,
            "domain": {
                "kind": "key-value",
                "keys": ["a", "b"],
                "values": [{"name": "cups", "low": 0, "high": 10}, {"name": "stars", "low": 1, "high": 5}],
            },
        }
    )
    pairs = people([0.5, 0.9], [[0.2, -0.6], [-0.4, 0.8]], 60_000)
    estimate = made.estimate(made.fold(made.empty(), made.perturb(pairs, seeded(2))))
    cups, stars = ask(estimate, "mean b")
    assert (cups.cell, stars.cell) == ({"key": "b", "value": "cups"}, {"key": "b", "value": "stars"})
    assert cups.low <= 3.0 <= cups.high
    assert stars.low <= 4.6 <= stars.high


def test_nothing_known_is_null_with_the_whole_domain_as_interval() -> None:
    made = build({"mechanism": "privkv", "epsilon": 1.0, "domain": FILMS})
    state = made.empty()
    state["counts"][0, 0] = [9, 0, 0]
    (one,) = ask(made.estimate(state), "mean ikiru")
    assert (one.value, one.low, one.high) == (None, 1.0, 5.0)


@pytest.mark.parametrize(
    ("keys", "pairs", "chosen"),
    [(100, None, "privkv"), (100, 90, "privkv"), (4, 1, "pckv-grr"), (2000, 3, "collision")],
)
def test_auto_picks_by_predicted_error_and_says_why(keys: int, pairs: int | None, chosen: str) -> None:
    domain: dict[str, Any] = {"kind": "key-value", "keys": keys, **({} if pairs is None else {"pairs": pairs})}
    table, reason = resolve({"mechanism": "auto", "epsilon": 2.0, "domain": domain})
    assert table["mechanism"] == chosen, reason
    assert "predicted standard error" in reason


def test_attackers_who_choose_their_key_are_noticed() -> None:
    made = build({"mechanism": "privkv", "epsilon": 1.0, "domain": FILMS})
    honest = made.fold(made.empty(), made.perturb(people([0.2, 0.5, 0.9], [0.0] * 3, 30_000), seeded(3)))
    assert made.warnings(honest) == []
    honest["counts"][1, 0, 2] += 800
    (warning,) = made.warnings(honest)
    assert "key psycho has" in warning
    assert np.isnan(made.estimate(made.empty()).share).all()
