"""Rows of a CSV file that do not fit its header, and texts that are no numbers: refused in every kind of domain."""

from pathlib import Path
from typing import Any

import pytest

from hearsay.mechanisms import catalogue
from hearsay.mechanisms.catalogue import parse_domain as parse
from hearsay.producer import values
from hearsay.producer.errors import ValuesError

# Of every kind a domain, a good row, and which of its cells is a number.
KINDS: dict[str, tuple[dict[str, Any], str, int | None]] = {
    "categorical": ({"size": 9}, "3", 0),
    "labels": ({"kind": "categorical", "categories": ["tea", "milk"]}, "tea", None),
    "ordinal": ({"low": 0.0, "high": 9.0, "bins": 9}, "3.5", 0),
    "integers": ({"kind": "ordinal", "first": -5, "last": 5}, "3", 0),
    "binary": ({}, "1", 0),
    "grid": ({"axes": [{"name": "x", "size": 8}, {"name": "y", "low": 0, "high": 9, "bins": 4}]}, "3,4.5", 1),
    "attributes": ({"names": ["a", "b"]}, "1,0", 0),
    "count": ({"max": 9}, "3", 0),
    "key-value": ({"keys": 4, "low": 0, "high": 9}, "bob,1,4.5", 2),
    "items": ({"kind": "key-value", "keys": 4, "values": False}, "bob,1", 1),
    "number": ({"low": 0, "high": 9}, "3.5", 0),
    "text": ({"length": 8}, "tea", None),
}
CASES = [pytest.param({"kind": kind, **table}, row, place, id=kind) for kind, (table, row, place) in KINDS.items()]


def refusal(tmp_path: Path, table: dict[str, Any], *rows: str) -> str:
    domain = parse(table)
    (tmp_path / "people.csv").write_text("\n".join([",".join(domain.columns), *rows]) + "\n", encoding="utf-8")
    with pytest.raises(ValuesError) as caught:
        values.read(tmp_path / "people.csv", domain)
    return str(caught.value)


def test_every_kind_is_here() -> None:
    assert set(catalogue.DOMAINS) <= {param.values[0]["kind"] for param in CASES}


@pytest.mark.parametrize(("table", "row", "place"), CASES)
def test_a_good_row_is_read(tmp_path: Path, table: dict[str, Any], row: str, place: int | None) -> None:
    domain = parse(table)
    (tmp_path / "people.csv").write_text(f"{','.join(domain.columns)}\n{row}\n", encoding="utf-8")
    assert len(values.read(tmp_path / "people.csv", domain)) == 1


@pytest.mark.parametrize(("table", "row", "place"), CASES)
def test_a_cell_too_many_is_refused(tmp_path: Path, table: dict[str, Any], row: str, place: int | None) -> None:
    cells = row.count(",") + 1
    for more in ("", "4711"):
        said = refusal(tmp_path, table, row, f"{row},{more}")
        assert f"people.csv: line 3 must have {cells} cells like the header, got {cells + 1}" in said
        assert "4711" not in said


@pytest.mark.parametrize(("table", "row", "place"), [case for case in CASES if case.values[2] is not None])
@pytest.mark.parametrize("number", ["1,5", '"1,5"', "1_5", '"1,5 "', "1;5", '"1.234,5"', "\u0663", "\uff13"])
def test_what_may_be_read_as_another_number_is_refused(
    tmp_path: Path, table: dict[str, Any], row: str, place: int, number: str
) -> None:
    cells = row.split(",")
    cells[place] = number
    said = refusal(tmp_path, table, row, ",".join(cells))
    assert "people.csv: line 3" in said
    if number == "1,5":
        assert "a number has a decimal point, no decimal comma" in said
    else:
        assert f"line 3, column {place + 1}: {parse(table).columns[place]} must be " in said
    assert number.strip('" ') not in said
    assert "\n" not in said


def test_a_row_without_a_key_holds_nothing(tmp_path: Path) -> None:
    table, _, _ = KINDS["key-value"]
    said = refusal(tmp_path, {"kind": "key-value", **table}, "bob,,", "eve,,4.5")
    assert "line 3, column 2: key must be an integer in 0..3" in said  # only the device: it holds no pair
