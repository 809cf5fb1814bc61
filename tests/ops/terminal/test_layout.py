"""Tables at every width: numbers and names never break, what says nothing is dropped, wide tables become blocks."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hearsay.ops.terminal import layout as laying
from hearsay.ops.terminal.layout import layout
from hearsay.ops.terminal.present import print_table

WIDTHS = (80, 100, 120, 200)
SURVEYS = (
    ("name", "tag", "mechanism", "epsilon", "kind", "cells", "every", "shards", "closed"),
    [
        ["session-minutes", "0a1b2c3d", "hierarchical", "1.1", "ordinal", "1,024", "-", "1", "no"],
        ["a-survey-with-quite-a-long-name", "4e5f6071", "count-mean-sketch", "0.75", "categorical", "1,048,576", "1h",
         "16", "yes"],
    ],
)  # fmt: skip
METRIC = (
    ("mechanism", "range", "runs", "reports", "stderr", "predicted", "ratio", "bound", "holds", "cells", "worst share"),
    [
        ["metric-l1 (anchored)", "0 .. 1,023", "200", "17,832,069", "0.0004238", "0.0004251", "0.997", "0.001", "yes",
         "1,024", "0.04238"],
        ["laplace-histogram", "12 .. 99", "200", "17,832,070", "0.001238", "0.001251", "0.99", "0.002", "no", "1,024",
         "0.05"],
    ],
)  # fmt: skip


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("headings", "rows"), [SURVEYS, METRIC], ids=["survey list", "experiment metric"])
def test_numbers_and_names_never_break(headings: Sequence[str], rows: list[list[str]], width: int) -> None:
    laid = layout(headings, rows, width)
    assert max(map(cell_len, laid.lines)) <= width
    text = "\n".join([*laid.above.split(", "), *laid.lines])
    for row in rows:
        for cell in row:
            assert cell == "-" or re.search(rf"(?<!\S){re.escape(cell)}(?!\S|,\d)", text), cell


def test_a_table_that_is_too_wide_becomes_blocks() -> None:
    laid = layout(*METRIC, 80)
    assert laid.above == "runs: 200, cells: 1,024", "what is the same in every row is shown once"
    assert laid.lines[0] == "metric-l1 (anchored)  0 .. 1,023"
    assert layout(*METRIC, 200).lines[0].startswith("mechanism ")


def test_the_heading_of_a_block_names_its_numbers_and_tells_the_blocks_apart() -> None:
    scores = [f"score of properties {number}" for number in range(9)]
    rows = [
        [n, a, *(f"0.{n}{a[-1]}{number}" for number in range(9))]
        for n, a in (("8", "0.5"), ("8", "0.7"), ("20", "0.5"))
    ]
    headings = [line for line in layout(("n", "a", *scores), rows, 80).lines if not line.startswith(" ")]
    assert headings == ["n 8  a 0.5", "n 8  a 0.7", "n 20  a 0.5"]
    named = [["gauss", *row] for row in rows]
    headings = [line for line in layout(("data", "n", "a", *scores), named, 80).lines if not line.startswith(" ")]
    assert headings == ["gauss  n 8  a 0.5", "gauss  n 8  a 0.7", "gauss  n 20  a 0.5"]


def test_rows_that_nothing_tells_apart_have_short_headings() -> None:
    rows = [["one", *["1,234,567,890"] * 6], ["one", *["1,234,567,890"] * 6], ["one", *["2,345,678,901"] * 6]]
    lines = layout(("name", *(f"number {column}" for column in range(6))), rows, 80).lines
    assert [line for line in lines if not line.startswith(" ")] == ["one", "one", "one"]


def test_headings_take_the_room_that_is_left() -> None:
    rows = [["PrivKVM (1 real, 5 virtual)", "0.4", "0.6308", "0.006824"]]
    laid = layout(
        ("method, and its number of rounds", "epsilon", "mean squared error of means", "standard error"), rows, 72
    )
    assert laid.lines[:2] == [
        "method, and its number of    epsilon    mean squared  standard error",
        "rounds                                error of means",
    ]


def test_columns_that_say_nothing_are_dropped() -> None:
    laid = layout(("item", "value", "note"), [["a", "1", "-"], ["b", "2", ""]], 80)
    assert laid.lines[0] == "item  value"


def test_prose_is_broken_between_words_only() -> None:
    said = "the two values whose times differ most are far apart from one another, by 0.04238 standard errors"
    laid = layout(("mechanism", "meaning", "share"), [["grr", said, "0.04238"]], 80)
    assert " ".join(laid.lines[-2].split() + laid.lines[-1].split()).count("0.04238") == 2
    assert max(map(len, laid.lines)) <= 80


CELLS = st.one_of(
    st.from_regex(r"-?[0-9]{1,3}(,[0-9]{3}){0,3}(\.[0-9]{1,8})?", fullmatch=True),
    st.from_regex(r"[a-z]{1,12}(-[a-z]{1,8}){0,2}", fullmatch=True),
    st.lists(st.from_regex(r"[a-z0-9.]{1,12}", fullmatch=True), min_size=2, max_size=12).map(" ".join),
    st.just("-"),
)


@given(st.data(), st.integers(2, 14), st.integers(1, 5), st.sampled_from(WIDTHS))
def test_no_word_of_any_table_is_split(data: st.DataObject, columns: int, count: int, width: int) -> None:
    headings = [f"column {number}" for number in range(columns)]
    rows = [[data.draw(CELLS) for _ in headings] for _ in range(count)]
    laid = layout(headings, rows, width)
    assert max(map(cell_len, laid.lines)) <= width
    printed = " ".join([laid.above.replace(", ", " "), *laid.lines]).split()
    for row in rows:
        for word in " ".join(cell for cell in row if cell != "-").split():
            assert word in printed, (word, laid)


@pytest.mark.parametrize("width", WIDTHS)
def test_tables_are_as_wide_as_columns_says(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    print_table("experiment metric", *METRIC)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(cell_len, lines)) <= width
    assert any("17,832,069" in line for line in lines)


def test_a_long_table_looks_at_each_cell_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def is_number(cell: str) -> bool:
        looked.append(cell)
        return cell.isdecimal()

    monkeypatch.setattr(laying, "is_number", is_number)
    laid = layout(("survey", "reports"), [["one", str(number)] for number in range(300)], 80)
    assert len(laid.lines) == 302
    assert len(looked) <= 2 * 300
