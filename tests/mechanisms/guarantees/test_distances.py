"""Metrics: distances of every kind, the axioms, which pairs bound all others."""

from math import inf

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.catalogue import parse_domain as parse
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.guarantees.distances import (
    MetricGuarantee,
    check_axioms,
    direct_pairs,
    distances,
    metric_option,
)
from hearsay.mechanisms.guarantees.promises import in_sequence

LINE = parse({"kind": "ordinal", "size": 5})
GRID = parse({"kind": "grid", "axes": [{"size": 3}, {"low": 0, "high": 6, "bins": 3}]})
TOWNS = parse({"kind": "categorical", "categories": ["a", "b", "c", "d"], "sensitive": ["b"]})


def metric(value: object, domain=LINE) -> np.ndarray:
    return distances(metric_option("ldp").check(value), domain)


def test_plain_ldp_treats_all_pairs_alike() -> None:
    np.testing.assert_array_equal(metric("ldp"), 1 - np.eye(5))


@pytest.mark.parametrize(("name", "expected"), [("l1", 1 + 4), ("l2", np.hypot(1, 4)), ("linf", 4)])
def test_norms_use_the_units_of_the_axes(name: str, expected: float) -> None:
    found = metric(name, GRID)
    assert found[0, 1 * 3 + 2] == pytest.approx(expected)  # one cell along the first axis, two bins of 2 units


def test_lp_lies_between_its_neighbours() -> None:
    found = metric({"kind": "lp", "p": 3}, GRID)
    assert (found <= metric("l2", GRID) + 1e-12).all()
    assert (found >= metric("linf", GRID) - 1e-12).all()


def test_sensitive_values_are_nearer_to_everybody() -> None:
    found = metric("sensitive", TOWNS)
    assert found[1].tolist() == [1, 0, 1, 1]
    assert found[0].tolist() == [0, 1, 2, 2]


def test_policy_graph_takes_shortest_paths_and_promises_nothing_without_one() -> None:
    found = metric({"kind": "graph", "edges": [["a", "b"], ["b", "c", 0.5]]}, TOWNS)
    assert found[0, 2] == 1.5
    assert found[0, 3] == inf
    assert MetricGuarantee(2.0, {"kind": "ldp"}).matrix(TOWNS)[0, 1] == 2.0


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([[0, 1, 3], [1, 0, 1], [3, 1, 0]], "by way of 1"),
        ([[0, 1, 1], [2, 0, 1], [1, 1, 0]], "the other way"),
        ([[1, 1, 1], [1, 0, 1], [1, 1, 0]], "to itself"),
        ([[0, 0, 1], [0, 0, 1], [1, 1, 0]], "their distance is 0"),
        ([[0, -1, 1], [-1, 0, 1], [1, 1, 0]], "negative"),
    ],
)
def test_what_is_not_a_metric_is_refused(rows: list, problem: str) -> None:
    with pytest.raises(SpecificationError, match=problem) as caught:
        metric({"kind": "matrix", "rows": rows}, parse({"kind": "categorical", "size": 3}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "domain"),
    [
        ("l3", LINE),
        ({"kind": "lp"}, LINE),
        ({"kind": "lp", "p": 0.5}, LINE),
        ({"kind": "graph", "edges": [[0, 9]]}, LINE),
        ({"kind": "graph", "edges": [[0, 0]]}, LINE),
        ({"kind": "graph", "edges": [[0, 1, -1]]}, LINE),
        ({"kind": "matrix", "rows": [[0, 1], [1, 0]]}, LINE),
        ({"kind": "l1", "p": 2}, LINE),
        ("sensitive", LINE),
    ],
)
def test_bad_metrics_are_refused_in_one_line(value: object, domain) -> None:
    with pytest.raises(SpecificationError) as caught:
        metric(value, domain)
    assert "\n" not in str(caught.value)


def test_only_neighbours_bound_a_line_and_only_sensitive_pairs_bound_their_metric() -> None:
    assert direct_pairs(metric("l1")).tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]
    assert direct_pairs(metric("sensitive", TOWNS)).tolist() == [[0, 1], [1, 2], [1, 3]]
    assert len(direct_pairs(metric("ldp"))) == 10


def test_rows_alone_are_a_matrix() -> None:
    rows = [[0, 1, "inf"], [1, 0, 2], ["inf", 2, 0]]
    with pytest.raises(SpecificationError, match="by way of 1"):
        metric(rows, parse({"kind": "categorical", "size": 3}))
    rows[0][2] = rows[2][0] = 3
    assert metric(rows, parse({"kind": "categorical", "size": 3}))[0, 2] == 3


def test_two_metric_surveys_about_one_value_add_their_bounds() -> None:
    """The channel of both reports together, against the composed guarantee, for every pair of values."""
    domain = {"kind": "ordinal", "size": 3}
    first = build({"mechanism": "metric-l1", "epsilon": 0.5, "domain": domain})
    second = build({"mechanism": "matrix", "epsilon": 2.0, "domain": domain, "options": {"metric": "linf"}})
    bound = in_sequence(first.guarantee, second.guarantee).matrix(first.domain)
    assert bound[0, 2] == pytest.approx(2 * 0.5 + 2 * 2.0)
    both = np.einsum("xa,xb->xab", first.channel(), second.channel()).reshape(3, -1)
    ratio = np.log(both[:, None, :] / both[None, :, :]).max(axis=2)
    assert (ratio <= bound + 1e-9).all()


def test_random_shortest_paths_are_metrics() -> None:
    generator = np.random.default_rng(6)
    edges = [[int(x), int(y), float(generator.random() + 0.1)] for x in range(5) for y in range(x)]
    check_axioms(metric({"kind": "graph", "edges": edges}))
