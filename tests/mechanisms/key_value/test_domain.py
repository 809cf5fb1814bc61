"""Key-value domains: tables, files, what a device holds."""

from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms.errors import QueryError, SpecificationError, ValueOutsideDomain
from hearsay.mechanisms.key_value.domain import KeyValue

DRINKS = {"kind": "key-value", "keys": ["tea", "milk"], "low": 0, "high": 10}
SHELVES = {
    "kind": "key-value",
    "keys": [{"name": "shop", "categories": ["north", "south"]}, {"name": "shelf", "size": 3}],
    "values": [{"name": "price", "low": 0, "high": 4}, {"name": "stars", "low": 1, "high": 5}],
}


@pytest.mark.parametrize(
    "table",
    [
        DRINKS,
        SHELVES,
        {"kind": "key-value", "keys": 5},
        {"kind": "key-value", "keys": 5, "values": False, "ordered": True, "pairs": 3},
    ],
)
def test_the_canonical_table_is_the_same_domain(table: dict[str, Any]) -> None:
    domain = KeyValue.parse(table)
    assert KeyValue.parse(domain.table()) == domain
    assert KeyValue.parse(domain.table()).table() == domain.table()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"keys": 1}, "domain.keys"),
        ({"keys": ["a", "a"]}, "different texts"),
        ({"low": 3, "high": 3}, "domain.low must be below"),
        ({"values": False}, "domain.low and domain.high go with values = true"),
        ({"ordered": "yes"}, "domain.ordered must be true or false"),
        ({"pairs": 9}, r"domain.pairs must be an integer in 1\.\.2"),
        ({"colour": 1}, "unknown key 'colour'"),
        ({"low": -1e308, "high": 1.7e308}, "domain.low and domain.high must be 1e-300 to 1e300 apart"),
        ({"low": 5e-324, "high": 1e-323}, "domain.low and domain.high must be 1e-300 to 1e300 apart"),
    ],
)
def test_mistakes_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecificationError, match=message):
        KeyValue.parse({**DRINKS, **changes})


def test_a_file_has_a_row_a_pair_in_any_order_and_devices_without_any() -> None:
    domain = KeyValue.parse(DRINKS)
    assert domain.columns == ("device", "key", "value")
    columns = {"device": ["b", "a", "c", "b"], "key": ["milk", "tea", "", "tea"], "value": ["10", "5", "", "0"]}
    pairs = domain.read(columns)
    assert pairs.starts.tolist() == [0, 1, 3, 3]
    assert pairs.keys.tolist() == [0, 0, 1]
    assert pairs.values[:, 0].tolist() == [0.0, -1.0, 1.0]


def test_blocks_of_a_file_are_joined_by_device() -> None:
    domain = KeyValue.parse(DRINKS)
    first = domain.read({"device": ["a", "b"], "key": ["tea", "tea"], "value": [1, 2]})
    second = domain.read({"device": ["b", "c"], "key": ["milk", "tea"], "value": [3, 4]})
    joined = domain.join([first, second])
    assert joined.sizes.tolist() == [1, 2, 1]
    again = domain.read({"device": ["b"], "key": ["tea"], "value": [5]})
    with pytest.raises(ValueOutsideDomain, match="must differ"):
        domain.join([first, again])


@pytest.mark.parametrize(
    ("columns", "column", "row"),
    [
        ({"device": ["a", "b"], "key": ["tea", "secret"], "value": [1, 1]}, "key", 1),
        ({"device": ["a", "b"], "key": ["tea", "milk"], "value": [1, 777]}, "value", 1),
        ({"device": ["a", "b"], "key": ["", "milk"], "value": ["", "secret"]}, "value", 1),
        ({"device": ["a", ""], "key": ["tea", "milk"], "value": [1, 1]}, "device", 1),
        ({"device": ["a", "a"], "key": ["tea", "tea"], "value": [1, 1]}, "key", 1),
        ({"device": ["a", "b"], "key": ["tea", ""], "value": [1, 777]}, "key", 1),
        ({"device": ["a", "b"], "key": ["tea", "milk"], "value": [1, ""]}, "value", 1),
        ({"device": ["a", "b"], "key": ["tea", "milk"], "value": [1, [2]]}, "value", 1),
        ({"device": ["a", "b"], "key": ["tea", "milk"], "value": [1, 10**400]}, "value", 1),
        ({"device": ["a", "b"], "key": ["tea", "milk"], "value": [1, float("nan")]}, "value", 1),
    ],
)
def test_a_bad_cell_is_named_by_row_and_column_and_never_shown(columns: dict, column: str, row: int) -> None:
    with pytest.raises(ValueOutsideDomain) as caught:
        KeyValue.parse(DRINKS).read(columns)
    assert (caught.value.position, caught.value.column) == (row, column)
    assert "secret" not in str(caught.value)
    assert "777" not in str(caught.value)


def test_what_a_device_holds() -> None:
    domain = KeyValue.parse(DRINKS)
    assert domain.one({"milk": 2.5}).values[0, 0] == -0.5
    assert len(domain.one({})) == 1
    assert domain.one({}).keys.size == 0
    shelves = KeyValue.parse(SHELVES)
    pairs = shelves.one({("south", 2): {"price": 4, "stars": 1}, ("north", 0): (0, 3)})
    assert pairs.keys.tolist() == [0, 5]
    assert pairs.values.tolist() == [[-1.0, 0.0], [1.0, -1.0]]
    items = KeyValue.parse({"kind": "key-value", "keys": ["tea", "milk"], "values": False})
    assert items.one(["milk"]).keys.tolist() == [1]
    for wrong in ("tea", 3, ["tea"]):
        with pytest.raises(ValueOutsideDomain, match="must be a mapping from key to value"):
            domain.one(wrong)


def test_both_ends_are_values() -> None:
    assert KeyValue.parse(DRINKS).one({"tea": 0, "milk": 10}).values[:, 0].tolist() == [-1.0, 1.0]


@pytest.mark.parametrize(
    ("table", "held", "column"),
    [
        (DRINKS, {"": 3}, "key"),
        (DRINKS, {" ": 3}, "key"),
        (DRINKS, {None: 3}, "key"),
        (DRINKS, {"tea": [3]}, "value"),
        (DRINKS, {"tea": 10**400}, "value"),
        (SHELVES, {("", 1): (1, 2)}, "shop"),
        (SHELVES, {"south": (1, 2)}, "shop"),
        (SHELVES, {("south", 1, 2): (1, 2)}, "shop"),
        (SHELVES, {("south", 1): (1, 2, 3)}, "price"),
        (SHELVES, {("south", 1): {"price": 1, "stars": 2, "weight": 3}}, "price"),
        (SHELVES, {("south", 1): {"price": 1}}, "stars"),
        (SHELVES, {("south", 1): 1}, "price"),
        ({"kind": "key-value", "keys": ["tea", "milk"], "values": False}, ["tea", ""], "key"),
    ],
)
def test_a_pair_that_is_none_is_refused_and_never_left_out(table: dict, held: Any, column: str) -> None:
    with pytest.raises(ValueOutsideDomain) as caught:
        KeyValue.parse(table).one(held)
    assert caught.value.column == column


@pytest.mark.parametrize("held", [[("oat",)], [{"milk": "oat"}], ["oat"]])
def test_a_coordinate_that_is_missing_is_not_the_label_none(held: Any) -> None:
    keys = [{"name": "milk", "categories": ["oat", "None"]}, {"name": "sugar", "categories": ["brown", "None"]}]
    domain = KeyValue.parse({"kind": "key-value", "keys": keys, "values": False})
    assert domain.one([("None", "None")]).keys.tolist() == [3]
    with pytest.raises(ValueOutsideDomain):
        domain.one(held)


def test_keys_are_found_and_named_in_their_own_words() -> None:
    shelves = KeyValue.parse(SHELVES)
    assert shelves.locate(["south", "1"]) == 4
    assert shelves.name(4) == (None, {"shop": "south", "shelf": 1})
    assert KeyValue.parse(DRINKS).name(1) == ("milk", None)
    with pytest.raises(QueryError, match="a key needs shop, shelf, got 1 words"):
        shelves.locate(["south"])
    with pytest.raises(QueryError, match="needs ordered keys"):
        KeyValue.parse(DRINKS).locate_range(["tea", "milk"], "mean")


def test_simulated_people_hold_different_keys() -> None:
    generator = np.random.default_rng(1)
    people = KeyValue.parse(SHELVES).people(lambda size: generator.integers(0, size, 500))
    assert len(people) == 500
    assert 1 <= people.sizes.min() <= people.sizes.max() <= 4
    assert (np.abs(people.values) <= 1).all()
