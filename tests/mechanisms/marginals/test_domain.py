"""The domain of attributes: how surveys write it, how values are read, what is refused."""

from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms.catalogue import parse_domain
from hearsay.mechanisms.errors import QueryError, SpecificationError, ValueOutsideDomain
from hearsay.mechanisms.marginals.domain import AttributeDomain

TABLE = {
    "kind": "attributes",
    "attributes": [{"name": "smokes", "categories": ["no", "yes"]}, {"name": "age", "size": 3}, {"name": "sport"}],
}


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        {**TABLE, "order": 3},
        {"kind": "attributes", "names": ["a", "b"]},
        {"kind": "attributes", "names": ["a", "b", "c"], "sizes": [2, 3, 12], "order": 1},
        {"kind": "attributes", "names": ["a", "b"], "labels": [["no", "yes"], ["x", "y", "z"]]},
    ],
)
def test_the_canonical_table_means_the_same(table: dict[str, Any]) -> None:
    domain = parse_domain(table)
    assert isinstance(domain, AttributeDomain)
    assert parse_domain(domain.table()) == domain
    assert domain.table()["order"] == table.get("order", 2)


def test_short_and_long_form_are_the_same_domain() -> None:
    short = {"kind": "attributes", "names": ["a", "b"], "labels": [["no", "yes"], ["x", "y", "z"]]}
    long = {
        "kind": "attributes",
        "attributes": [{"name": "a", "categories": ["no", "yes"]}, {"name": "b", "categories": ["x", "y", "z"]}],
    }
    assert parse_domain(short) == parse_domain(long)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"attributes": []}, "list that is not empty"),
        ({"attributes": [{"name": "a"}, {"name": "a"}]}, "different names, got 'a' twice"),
        ({"attributes": [{"name": "given"}]}, 'other than "given"'),
        ({"attributes": [{"size": 3}]}, "name must be a text"),
        ({"attributes": [{"name": "a", "size": 1}]}, "integer in 2.."),
        ({"attributes": [{"name": "a", "size": 2, "categories": ["x", "y"]}]}, "exactly one of"),
        ({"attributes": [{"name": "a", "colour": 2}]}, "unknown key 'colour'"),
        ({"order": 4}, r"order must be an integer in 1\.\.3"),
        ({"order": 0}, r"order must be an integer in 1\.\.3"),
        ({"names": ["a"]}, "either names or attributes"),
        ({"sizes": [2]}, "go with domain.names"),
        ({"colour": 1}, "unknown key 'colour'"),
        ({"attributes": [{"name": f"a{i}", "size": 256} for i in range(9)]}, "at most 4096 codes|fit into 64 bits"),
        ({"attributes": [{"name": "a", "size": 1}]}, r"a\.size must be an integer in 2\.\.4096, got 1"),
        ({"attributes": [{"name": "a", "size": 100}, {"name": "b", "size": 100}]}, "at most 4096 codes, got 16384"),
    ],
)
def test_what_is_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecificationError, match=says):
        parse_domain({**TABLE, **change})


def test_names_need_as_many_sizes() -> None:
    with pytest.raises(SpecificationError, match="one entry for each of the 2 names, got 1"):
        parse_domain({"kind": "attributes", "names": ["a", "b"], "sizes": [2]})


def test_values_from_columns_in_any_order() -> None:
    domain = parse_domain(TABLE)
    assert domain.columns == ("smokes", "age", "sport")
    read = domain.read({"sport": ["1", "0"], "smokes": ["yes", "no"], "age": [2, 0], "other": [9, 9]})
    np.testing.assert_array_equal(read, [[1, 2, 1], [0, 0, 0]])
    np.testing.assert_array_equal(domain.one({"age": 1, "smokes": "no", "sport": 0}), [[0, 1, 0]])
    np.testing.assert_array_equal(domain.one(["yes", 1, 0]), [[1, 1, 0]])


def test_a_bad_value_is_located_and_never_shown() -> None:
    domain = parse_domain(TABLE)
    with pytest.raises(ValueOutsideDomain) as caught:
        domain.read({"sport": ["1", "0"], "smokes": ["yes", "secret"], "age": [2, 0]})
    assert (caught.value.position, caught.value.column) == (1, "smokes")
    assert "secret" not in str(caught.value)
    for value in ({"smokes": "no"}, "yes", [1, 2], 7):
        with pytest.raises(ValueOutsideDomain):
            domain.one(value)
    with pytest.raises(ValueOutsideDomain):
        domain.check(np.array([[0, 3, 0]]))


def test_cells_and_attributes_have_names() -> None:
    domain = parse_domain(TABLE)
    assert domain.attribute_number("age") == 1
    assert domain.cell((1, 0), 3) == {"age": 1, "smokes": "yes"}
    with pytest.raises(QueryError, match="one of smokes, age, sport, got height"):
        domain.attribute_number("height")


def test_a_smaller_one_keeps_the_first_attributes() -> None:
    domain = parse_domain({"kind": "attributes", "names": [f"a{i}" for i in range(32)], "order": 2})
    assert domain.smaller(1024).shape == (2,) * 10
    assert domain.smaller(2).order == 1
