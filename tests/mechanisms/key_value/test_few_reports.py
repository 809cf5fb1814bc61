"""Nobody has reported yet, or one device, or sets are larger than expected: questions are answered or refused."""

from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.asking import answer, parse_text
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.key_value.pairs import Pairs
from tests.mechanisms.key_value.people import ONE_IN_A_MILLION, domain

FILMS = {"keys": ["ikiru", "psycho", "stalker"], "low": 1, "high": 5, "ordered": True}
SHELVES = {
    "keys": [{"name": "shop", "categories": ["north", "south"]}, {"name": "shelf", "size": 2}],
    "values": [{"name": "price", "low": 0, "high": 4}, {"name": "stars", "low": 1, "high": 5}],
}
ITEMS = {"keys": 4, "values": False, "ordered": True}
QUESTIONS = {
    "films": [
        "frequencies", "top 1", "top 3", "point ikiru", "means", "mean ikiru", "mean stalker", "mean ikiru stalker",
        "mean ikiru ikiru", "mean stalker stalker", "mean stalker ikiru", "quantile 0.01 0.5 0.99 psycho",
    ],
    "shelves": ["frequencies", "top 2", "point south 1", "means", "mean south 1", "quantile 0.5 north 0"],
    "items": ["frequencies", "top 4", "point 3", "range 0 3", "range 0 0", "range 3 3", "range 3 0", "means", "mean 0"],
}  # fmt: skip
CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("privkv", "films", {}),
    ("privkv", "films", {"bins": 5}),
    ("privkv", "films", {"budget": "split", "estimator": "paper"}),
    ("privkv", "films", {"budget": "split", "virtual": 6, "initial": 1.0}),
    ("privkv", "shelves", {}),
    ("privkv", "shelves", {"bins": 3}),
    ("privkv", "items", {}),
    ("privkvm", "films", {"rounds": 2}),
    ("privkvm", "shelves", {"rounds": 2, "estimator": "paper", "presence": "literal"}),
    ("privkvm+", "films", {"rounds": 3}),
    ("pckv-grr", "films", {"padding": 2}),
    ("pckv-grr", "shelves", {"padding": 2}),
    ("pckv-grr", "items", {"padding": 2}),
    ("pckv-ue", "films", {"padding": 2}),
    ("collision", "films", {"pairs": 1, "hashes": 64}),
    ("hierarchical", "films", {"padding": 2}),
    ("heavy", "items", {"k": 1, "padding": 1}),
]


def asked(text: str, found: Any) -> list[Any]:
    """The answers; none where the question does not suit the estimate."""
    try:
        answers = answer(parse_text(text), found)
    except QueryError:
        return []
    assert answers, text
    return answers


@pytest.mark.parametrize("reports", [0, 1, 2])
@pytest.mark.parametrize(("mechanism", "data", "options"), CASES)
def test_every_question_is_answered_or_refused(mechanism: str, data: str, options: dict, reports: int) -> None:
    table = {"films": FILMS, "shelves": SHELVES, "items": ITEMS}[data]
    made = build({"mechanism": mechanism, "epsilon": 1.0, "domain": {"kind": "key-value", **table}, "options": options})
    state, history = made.empty(), []
    for _ in range(2 if made.rounds > 1 else 1):  # a first round that nobody came to, then one with these reports
        here = made.in_round(history) if history else made
        sets = here.listed_values()[:reports]
        if history or made.rounds == 1:
            here.fold(state, here.perturb(sets, seeded(3)))
        found = here.estimate(state)
        assert here.reports(state) == (reports if history or made.rounds == 1 else 0)
        assert here.warnings(state) == []
        for text in (*found.headline(), *QUESTIONS[data]):
            numbers = [number for one in asked(text, found) for number in (one.value, one.stderr, one.low, one.high)]
            assert all(number is None or np.isfinite(number) for number in numbers), text
        parameters = here.next_round(state)
        if parameters is None:
            break
        history.append(parameters)


def everybody_holds(keys: int, devices: int) -> Pairs:
    return Pairs(
        np.arange(devices + 1) * keys, np.tile(np.arange(keys), devices), np.tile([[0.5]], (keys * devices, 1))
    )


@pytest.mark.parametrize(
    ("mechanism", "options", "counts"),
    [("pckv-grr", {"padding": 3}, 0.5), ("collision", {"pairs": 3, "hashes": 1024}, 0.5), ("privkv", {}, 1.0)],
)
def test_sets_larger_than_expected_count_for_less_among_ten_thousand_keys(
    mechanism: str, options: dict, counts: float
) -> None:
    """Everybody holds 6 pairs where 3 were expected; means stay what they are."""
    made = build({"mechanism": mechanism, "epsilon": 4.0, "domain": domain(10_000).table(), "options": options})
    devices = 100_000 if mechanism != "privkv" else 2_000_000
    found = made.estimate(made.fold(made.empty(), made.perturb(everybody_holds(6, devices), seeded(4))))
    share, variance = found.share[:6].mean(), found.share_variance[:6].sum() / 36
    assert abs(share - counts) < ONE_IN_A_MILLION * np.sqrt(variance) + 0.02  # collision: its hashes are a pool
    assert share > 0.8 * counts
    assert share < 1.2 * counts
    mean = found.total[:6].sum() / found.share[:6].sum()
    assert abs(mean - 0.5) < 0.15
    assert np.abs(found.share[6:].mean()) < 0.02
