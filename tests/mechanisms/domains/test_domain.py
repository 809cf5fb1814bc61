"""Domains: what a survey may say, how values become cells, and that no message shows a device's value."""

from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms.catalogue import parse_domain as parse
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import QueryError, SpecificationError, ValueOutsideDomain

COLOURS = {"kind": "categorical", "categories": ["red", "green", "blue", "none"]}


@pytest.mark.parametrize(
    ("table", "shape"),
    [
        ({"kind": "categorical", "size": 7}, (7,)),
        (COLOURS, (4,)),
        ({**COLOURS, "blocks": [["red", "none"], ["blue", "green"]], "sensitive": ["blue"]}, (4,)),
        ({"kind": "ordinal", "size": 10}, (10,)),
        ({"kind": "ordinal", "low": -1.5, "high": 2.5, "bins": 8}, (8,)),
        ({"kind": "binary"}, (2,)),
        ({"kind": "binary", "categories": ["no", "yes"]}, (2,)),
        ({"kind": "grid", "sizes": [3, 4]}, (3, 4)),
        ({"kind": "grid", "axes": [{"name": "x", "low": 0, "high": 1, "bins": 5}, {"size": 2}]}, (5, 2)),
    ],
)
def test_the_canonical_table_describes_the_same_domain(table: dict[str, Any], shape: tuple[int, ...]) -> None:
    domain = parse(table)
    assert domain.shape == shape
    assert domain.size == np.prod(shape)
    assert parse(domain.table()) == domain
    assert parse(domain.table()).table() == domain.table()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("ordinal", "domain must be a table"),
        ({"kind": "circle"}, "domain.kind must be one of"),
        ({"kind": "ordinal", "size": 1}, "domain.size must be an integer in 2.."),
        ({"kind": "ordinal", "size": True}, "domain.size must be an integer"),
        ({"kind": "ordinal", "size": 1 << 40}, "domain.size must be an integer"),
        ({"kind": "ordinal"}, "domain must have exactly one of"),
        ({"kind": "ordinal", "size": 4, "low": 0}, "domain.low goes with bins"),
        ({"kind": "ordinal", "low": 3, "high": 3, "bins": 4}, "domain.low must be below"),
        ({"kind": "ordinal", "low": float("nan"), "high": 3, "bins": 4}, "domain.low must be a finite number"),
        ({"kind": "ordinal", "size": 4, "colour": 1}, "unknown key 'colour'"),
        ({"kind": "categorical", "categories": ["a", "a"]}, "domain.categories must be different"),
        ({"kind": "categorical", "categories": ["a"]}, "at least 2 labels"),
        ({"kind": "categorical", "categories": []}, "domain.categories must be a list"),
        ({"kind": "binary", "categories": ["a", "b", "c"]}, "must be two labels"),
        ({"kind": "grid", "sizes": [2], "axes": []}, "exactly one of sizes, axes"),
        ({"kind": "grid", "sizes": [1 << 20, 1 << 20]}, "at most"),
        ({"kind": "grid", "axes": [{"name": "x", "size": 2}, {"name": "x", "size": 2}]}, "different names"),
        ({**COLOURS, "sensitive": ["pink"]}, "domain.sensitive must hold values of the domain, got 'pink'"),
        ({**COLOURS, "sensitive": ["red", "red"]}, "domain.sensitive must not name a value twice"),
        ({**COLOURS, "blocks": [["red"], ["green"]]}, "every value of the domain exactly once"),
        ({**COLOURS, "blocks": 9}, "domain.blocks must be a block size in 1..4"),
    ],
)
def test_what_a_survey_may_not_say(table: Any, message: str) -> None:
    with pytest.raises(SpecificationError, match=message):
        parse(table)


def test_blocks_of_equal_size_are_consecutive_and_the_last_may_be_shorter() -> None:
    assert parse({"kind": "categorical", "size": 5, "blocks": 2}).blocks == ((0, 1), (2, 3), (4,))


def test_sensitive_values_and_blocks_may_be_labels_or_integers() -> None:
    assert parse({**COLOURS, "sensitive": ["none", "green"]}).sensitive == (1, 3)
    assert parse({"kind": "categorical", "size": 5, "sensitive": [4, 0]}).sensitive == (0, 4)


def test_values_become_cells_in_the_axis_own_units() -> None:
    assert parse(COLOURS).read({"value": ["blue", "red"]}).tolist() == [2, 0]
    bins = parse({"kind": "ordinal", "low": -1.5, "high": 2.5, "bins": 8})
    assert bins.read({"value": [-1.5, "-1.01", 2.49, 2.5]}).tolist() == [0, 0, 7, 7]
    assert bins.axes[0].item(0) == [-1.5, -1.0]
    assert bins.axes[0].units(2) == -0.5
    grid = parse({"kind": "grid", "axes": [{"name": "x", "size": 3}, {"name": "y", "size": 4}]})
    assert grid.flatten(grid.read({"y": [3, 0], "x": [2, 1]})).tolist() == [11, 4]


@pytest.mark.parametrize("wrong", ["pink", "", "RED"])
def test_a_label_outside_is_refused_with_its_position_but_never_shown(wrong: str) -> None:
    with pytest.raises(ValueOutsideDomain) as caught:
        parse(COLOURS).read({"value": ["red", wrong]})
    assert caught.value.position == 1  # type: ignore[attr-defined]
    assert not wrong or wrong not in str(caught.value)


@pytest.mark.parametrize("wrong", [-1, 777, 2.5, "x", None, float("nan"), float("inf")])
def test_a_number_outside_is_refused_and_never_shown(wrong: Any) -> None:
    with pytest.raises(ValueOutsideDomain, match=r"value must be an integer in 0\.\.9") as caught:
        parse({"kind": "ordinal", "size": 10}).read({"value": [wrong]})
    assert "777" not in str(caught.value)
    with pytest.raises(ValueOutsideDomain, match=r"value must be a number in 3\.\.4"):
        parse({"kind": "ordinal", "low": 3, "high": 4, "bins": 10}).read({"value": [wrong]})


@pytest.mark.parametrize("wrong", [np.array([0.5]), np.array([[1]]), np.array([-1]), np.array([10])])
def test_mechanisms_take_only_checked_cells(wrong: np.ndarray) -> None:
    with pytest.raises(ValueOutsideDomain):
        parse({"kind": "ordinal", "size": 10}).check(wrong)


def test_no_values_are_no_cells() -> None:
    assert parse({"kind": "grid", "sizes": [2, 3]}).flatten([]).shape == (0,)


def test_a_missing_column_is_named() -> None:
    with pytest.raises(ValueOutsideDomain, match="missing column 'value'"):
        parse(COLOURS).read({"colour": ["red"]})


def test_labels_with_commas_are_quoted_where_they_are_listed() -> None:
    domain = parse({"kind": "categorical", "categories": ["Rome", "Washington, D.C."]})
    with pytest.raises(QueryError, match=r'value must be one of Rome, "Washington, D\.C\.", got pink'):
        domain.axes[0].locate("pink")


def test_a_query_shows_what_it_was_asked() -> None:
    domain: Domain = parse(COLOURS)
    assert domain.axes[0].locate("none") == 3
    with pytest.raises(QueryError, match="value must be one of red, green, blue, none, got pink"):
        domain.axes[0].locate("pink")


@pytest.mark.parametrize("table", [{"kind": "grid", "sizes": [2, 3]}, {"kind": "attributes", "names": ["a", "b"]}])
def test_a_device_with_several_axes_gives_one_value_for_each(table: dict[str, Any]) -> None:
    domain = parse(table)
    first, second = domain.columns
    for right in ((1, 0), [1, 0], np.array([1, 0]), {second: 0, first: 1}):
        assert domain.one(right).tolist() == [[1, 0]]
    by_name = {first: 1, second: 0}
    for wrong in ((1,), (1, 0, 1), (), 1, None, "10", b"10", np.array(1), {first: 1}, by_name | {"other": 1}):
        with pytest.raises(
            ValueOutsideDomain, match=f"^value must (be a mapping from|have exactly the names) {first}, "
        ):
            domain.one(wrong)
