"""The planner's predictions against drawn surveys, its inverses, and its agreement with `auto`."""

from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import catalogue
from hearsay.mechanisms.errors import QueryError, SpecificationError
from hearsay.mechanisms.planning.asked import Asked
from hearsay.mechanisms.planning.auto import resolve
from hearsay.mechanisms.planning.drawn_states import play
from hearsay.mechanisms.planning.plan import Prediction, Target, plan
from hearsay.mechanisms.planning.widths import half_width
from hearsay.mechanisms.questions import answer

LINE = {"kind": "ordinal", "size": 64}
LABELS = {"kind": "categorical", "size": 16}
TABLE = {"kind": "attributes", "names": ["a", "b", "c", "d"], "order": 2}


def asked(domain: dict[str, Any], query: str, **more: Any) -> Asked:
    return Asked.of(catalogue.parse_domain(domain), query, **more)


def rows(domain: dict[str, Any], query: str, target: Target, **more: Any) -> dict[str, Prediction]:
    return {row.name: row for row in plan(asked(domain, query, **more), target)}


@pytest.mark.parametrize(
    ("domain", "query", "shape"),
    [
        (LINE, "range 3 20", "zipf"),
        (LABELS, "point 0", "zipf"),
        (LABELS, "frequencies", "point"),
        (TABLE, "marginal a b", "cauchy"),
        ({"kind": "count", "max": 8}, "mean", "geometric"),
        ({"kind": "number", "low": 0, "high": 10}, "mean", "normal"),
        ({"kind": "key-value", "keys": 8}, "point 1", "power-law"),
    ],
)
def test_predicted_widths_are_those_of_drawn_surveys(domain: dict[str, Any], query: str, shape: str) -> None:
    users = 4_000
    planned = asked(domain, query, shape=shape)
    people = planned.domain.simulated(shape, users, np.random.default_rng(5))
    for row in plan(planned, Target(users, 1.0)):
        generator = np.random.default_rng(6)
        widths = []
        for _ in range(12):
            mechanism, state = play(row.built, people, generator)
            widths.append(half_width(answer(planned.question, mechanism.estimate(state))))
        assert row.within == pytest.approx(np.median(widths), rel=0.05), row.name
        assert row.within_90 is not None
        assert row.within_90 >= row.within


def test_a_quantile_is_drawn_in_its_units_and_in_ranks_without_a_shape() -> None:
    users = 20_000
    in_units = rows(LINE, "quantile 0.5", Target(users, 1.0), shape="normal", named=["haar"])["haar"]
    in_ranks = rows(LINE, "quantile 0.5", Target(users, 1.0), named=["haar"])["haar"]
    assert (in_units.in_ranks, in_ranks.in_ranks) == (False, True)
    assert in_units.within is not None
    assert in_ranks.within is not None
    assert in_units.worst is None  # a quantile's width in units is unbounded over shapes
    assert 1 < in_units.within < 16
    assert 0.01 < in_ranks.within < 0.2


def test_the_worst_is_not_below_what_values_are_planned_for() -> None:
    everybody = np.full(100, 3)
    row = rows(LABELS, "point 3", Target(10_000, 4.0), values=everybody, named=["grr"])["grr"]
    of_shapes = rows(LABELS, "point 3", Target(10_000, 4.0), named=["grr"])["grr"].worst
    assert row.within is not None
    assert of_shapes is not None
    assert row.worst == row.within > of_shapes  # no shape is as wide as everybody at one value


@pytest.mark.parametrize("name", ["grr", "oue", "hrr"])
def test_users_and_epsilon_are_inverses(name: str) -> None:
    forward = rows(LABELS, "point 3", Target(5_000, 1.3), shape="zipf", named=[name])[name]
    within = forward.within
    epsilon = rows(LABELS, "point 3", Target(users=5_000, within=within), shape="zipf", named=[name])[name].epsilon
    users = rows(LABELS, "point 3", Target(epsilon=1.3, within=within), shape="zipf", named=[name])[name].users
    assert epsilon == pytest.approx(1.3, rel=0.01)
    assert users == pytest.approx(5_000, rel=0.01)


def test_a_target_out_of_reach_is_none_with_the_best_there_is() -> None:
    row = rows(LABELS, "point 3", Target(users=1_000, within=1e-6), named=["hrr"])["hrr"]
    assert (row.epsilon, row.reached, row.recommended) == (None, False, False)
    assert row.within is not None
    assert 1e-6 < row.within < 1


@pytest.mark.parametrize(
    ("domain", "query"),
    [
        ({"kind": "binary"}, "point 1"),
        (LABELS, "point 3"),
        (LABELS, "top 3"),
        (LINE, "range 3 20"),
        (LINE, "quantile 0.5"),
        ({"kind": "grid", "sizes": [8, 8]}, "range 1:3 2:5"),
        (TABLE, "marginal a b"),
        ({"kind": "count", "max": 8}, "range 1 3"),
        ({"kind": "number", "low": 0, "high": 1}, "mean"),
        ({"kind": "categorical", "size": 9, "blocks": 3}, "point 1"),
        ({"kind": "categorical", "size": 9, "sensitive": [1]}, "point 1"),
    ],
)
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_auto_and_plan_agree(domain: dict[str, Any], query: str, epsilon: float) -> None:
    table, _ = resolve({"mechanism": "auto", "epsilon": epsilon, "domain": domain})
    found = plan(asked(domain, query), Target(500, epsilon))
    assert [row.name for row in found if row.recommended] == [table["mechanism"]]


def test_only_the_domains_own_kind_of_promise_is_compared_unless_named() -> None:
    assert set(rows(LINE, "range 3 20", Target(500, 1.0))) == {"flat", "haar", "hierarchical"}
    assert set(rows(LINE, "range 3 20", Target(500, 1.0), named=["metric-l1", "haar"])) == {"metric-l1", "haar"}
    assert set(asked(LINE, "range 3 20").left_out()) == {"laplace-histogram", "matrix", "metric-l1"}
    assert "um" not in rows({"kind": "count", "max": 8}, "mean", Target(500, 1.0))


@pytest.mark.parametrize("name", catalogue.shipped())
def test_the_promise_known_before_building_is_that_of_the_default(name: str) -> None:
    for kind in catalogue.classes(name):
        for example in kind.EXAMPLES:
            if example.get("options"):
                continue
            built = catalogue.create(name, example["epsilon"], catalogue.parse_domain(example["domain"]), {})
            assert built.guarantee.table()["kind"] == built.PROMISE, name


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"target": {"users": 5}}, "two of users, epsilon and within must be given, got users"),
        ({"target": {"users": 5, "epsilon": 1, "within": 1}}, "got users, epsilon, within"),
        ({"target": {"users": 0, "epsilon": 1}}, "users must be at least 1, got 0"),
        ({"target": {"users": 5, "epsilon": 60}}, "epsilon must be > 0 and at most 50, got 60"),
        ({"target": {"users": 5, "within": -1}}, "within must be finite and > 0, got -1"),
        ({"query": "range 1 2"}, "ask one of point V, frequencies, top K"),
        ({"query": "point 99"}, "99"),
        ({"shape": "gauss"}, "shape must be one of cauchy, .* on a domain of kind categorical, got 'gauss'"),
        ({"named": ["haar"]}, "kind must be one of ordinal, grid for mechanism haar"),
        ({"named": ["nobody"]}, "mechanism must be one of .* got 'nobody'"),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, Any], words: str) -> None:
    target = change.pop("target", {"users": 5, "epsilon": 1.0})
    query = change.pop("query", "point 1")
    with pytest.raises((SpecificationError, QueryError), match=words):
        plan(asked(LABELS, query, **change), Target(**target))


@pytest.mark.parametrize(
    ("domain", "query", "name", "rel"),
    [
        (LINE, "range 3 20", "haar", 0.01),
        pytest.param(LINE, "range 3 20", "flat", 0.01, marks=pytest.mark.slow),
        pytest.param(TABLE, "marginal a b", "inp-ht", 0.01, marks=pytest.mark.slow),
        (TABLE, "marginal a b", "marg-ps", 0.01),
        ({"kind": "count", "max": 8}, "mean", "gm", 0.01),
        pytest.param({"kind": "number", "low": 0, "high": 10}, "mean", "mean", 0.01, marks=pytest.mark.slow),
        pytest.param({"kind": "key-value", "keys": 4}, "point 1", "privkv", 0.01, marks=pytest.mark.slow),
        (LABELS, "point 3", "ss", 0.01),
        (LABELS, "point 3", "olh", 0.03),  # its number of hash values jumps
    ],
)
def test_inverses_and_monotone_curves(domain: dict[str, Any], query: str, name: str, rel: float) -> None:
    made = asked(domain, query, shape="zipf", named=[name])

    def width(users: int, epsilon: float) -> float:
        return made.widths(name, epsilon).expected("zipf", users)

    curve = [width(3_000, epsilon) for epsilon in (0.1, 0.3, 0.8, 2.0, 4.0, 8.0)]
    assert curve == sorted(curve, reverse=True)
    by_users = [width(users, 1.0) for users in (100, 1_000, 10_000)]
    assert by_users == sorted(by_users, reverse=True)
    for epsilon in (0.5, 2.0):
        (found,) = plan(made, Target(users=3_000, within=width(3_000, epsilon)))
        assert found.epsilon == pytest.approx(epsilon, rel=rel)
        (counted,) = plan(made, Target(epsilon=epsilon, within=width(3_000, epsilon)))
        assert counted.users == pytest.approx(3_000, rel=rel)


def test_users_for_a_quantile_are_found_to_a_cell() -> None:
    forward = rows(LINE, "quantile 0.5", Target(4_000, 1.0), shape="normal", named=["haar"])["haar"]
    assert forward.within is not None
    back = rows(LINE, "quantile 0.5", Target(epsilon=1.0, within=forward.within), shape="normal", named=["haar"])[
        "haar"
    ]
    assert back.users is not None
    again = rows(LINE, "quantile 0.5", Target(back.users, 1.0), shape="normal", named=["haar"])["haar"]
    assert again.within == pytest.approx(forward.within, abs=1.0)


def test_correlations_are_planned_where_they_have_an_answer() -> None:
    """Where everybody holds the same value there is none, and its clipped interval was taken for the worst width."""
    (row,) = plan(asked(TABLE, "correlations", named=["inp-ht"]), Target(20_000, 2.0))
    assert row.shape != "point"
    assert row.within is not None
    assert row.within < 0.2
    at_point = rows(TABLE, "correlations", Target(2_000, 1.0), shape="point", named=["inp-ht"])["inp-ht"]
    assert at_point.within_90 is None or at_point.within_90 >= (at_point.within or 0.0)


@pytest.mark.parametrize(
    ("domain", "query", "name"),
    [
        ({"kind": "grid", "axes": [{"name": "label", "size": 2}, {"name": "score", "size": 8}]}, "auc", "haar"),
        ({"kind": "key-value", "keys": 5}, "mean 1", "privkv"),
    ],
)
def test_a_shape_without_an_answer_is_not_the_worst(domain: dict[str, Any], query: str, name: str) -> None:
    """At one point all have the same label, and nobody holds key 1: its interval was the whole domain."""
    (row,) = plan(asked(domain, query, named=[name]), Target(20_000, 2.0))
    assert row.shape != "point"
    assert row.within is not None
    assert row.within < 0.4


def test_a_quantile_of_a_key_is_planned_in_its_units() -> None:
    """Its error in ranks is not known."""
    pairs = {"kind": "key-value", "keys": 3, "low": 0, "high": 100}
    made = asked(pairs, "quantile 0.5 1", options={"privkv": {"bins": 8}}, named=["privkv"])
    (row,) = plan(made, Target(users=100_000, within=20.0))
    assert not row.in_ranks
    assert row.reached
    assert row.worst is None  # it is entirely the data's
