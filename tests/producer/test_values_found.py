"""Every row of a file counts or is named; what was found instead of a column is shown; values never are."""

import gzip
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearsay.mechanisms.catalogue import parse_domain as parse
from hearsay.mechanisms.domains.domain import Domain
from hearsay.producer import values
from hearsay.producer.errors import ValuesError
from hearsay.producer.values import plain, table

MINUTES = parse({"kind": "ordinal", "size": 64})
HEIGHTS = parse({"kind": "ordinal", "low": 1.0, "high": 2.0, "bins": 10})
COLOURS = parse({"kind": "categorical", "categories": ["red", "green", "dark blue"]})
WORDS = parse({"kind": "text", "length": 8})
MAP = parse({"kind": "grid", "axes": [{"name": "x", "size": 8}, {"name": "y", "low": 0, "high": 1, "bins": 4}]})
CUPS = parse({"kind": "key-value", "keys": 4, "low": 0, "high": 10})
CODES = parse({"kind": "categorical", "size": 8})


def load(folder: Path, content: str | bytes, domain: Domain, **options: Any) -> values.Loaded:
    file = folder / "people.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return values.load(file, domain, **options)


def refusal(folder: Path, content: str | bytes, domain: Domain, **options: Any) -> str:
    with pytest.raises(ValuesError) as caught:
        load(folder, content, domain, **options)
    said = str(caught.value)
    assert "\n" not in said
    return said.removeprefix(str(folder) + "/")


@pytest.mark.parametrize("domain", [MINUTES, WORDS], ids=["numbers", "texts"])
def test_a_blank_line_in_one_column_is_named_unless_nothing_follows(tmp_path: Path, domain: Domain) -> None:
    assert "line 3 is blank" in refusal(tmp_path, "value\n1\n\n3\n", domain)
    blank = "3 of 5 rows are bad: 3 blank, where every line holds a value (lines 3, 4, 5); "
    assert blank in refusal(tmp_path, "value\n1\n\n\n\n3\n", domain)
    assert load(tmp_path, "value\n1\n3\n\n\n", domain).rows == 2


def test_a_blank_line_at_the_end_of_a_chunk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "CHUNK_BYTES", 9)
    assert "line 3 is blank" in refusal(tmp_path, "value\n1\n\n3\n4\n", MINUTES)


def test_blank_lines_between_rows_of_several_cells_are_counted(tmp_path: Path) -> None:
    loaded = load(tmp_path, "x,y\n1,0.5\n\n\n2,0.5\n\n", MAP)
    assert (loaded.rows, loaded.blank_lines) == (2, 2)


@pytest.mark.parametrize(
    ("content", "domain", "said"),
    [
        ("age,sex\n1,2\n", MINUTES, "people.csv has no column 'value'; found: age, sex. Use --column NAME."),
        ("name,age,city\na,1,b\n", MINUTES, "found: name, age, city. Use --column NAME."),
        ("VALUE\n1\n", MINUTES, "people.csv has no column 'value'; found: VALUE. Use --column VALUE."),
        ("id,valeu\n1,1\n", MINUTES, "found: id, valeu. Use --column valeu."),
        ("age\n1\n", MINUTES, "found: age. Use --column age."),
        ("Value\ntea\n", WORDS, "found: Value. Use --column Value."),
        ("value;age\n1;2\n", MINUTES, "people.csv separates its cells by semicolons; write commas"),
        ("age\tvalue\n1\t2\n", MINUTES, "people.csv separates its cells by tabs"),
        ("X,Y\n1,2\n", MAP, "has no column 'x'; found: X, Y. Rename 'X' in the header."),
        ("", MINUTES, "people.csv is empty; its first line must name the columns value"),
        ("\n \n", MINUTES, "people.csv is empty"),
        (b"\xef\xbb\xbf", MINUTES, "people.csv is empty"),
        (b"PK\x03\x04....", MINUTES, "people.csv is a zip archive or a workbook; save it as CSV"),
    ],
)
def test_what_was_found_is_shown(tmp_path: Path, content: str | bytes, domain: Domain, said: str) -> None:
    assert said in refusal(tmp_path, content, domain)


@pytest.mark.parametrize(
    ("content", "domain"),
    [
        ("47\n11\n", MINUTES),
        ("green\nred\n", COLOURS),
    ],
)
def test_a_file_without_a_header_shows_no_value(tmp_path: Path, content: str, domain: Domain) -> None:
    said = refusal(tmp_path, content, domain)
    assert "its first line seems to hold values; put the line 'value' above it" in said
    assert not any(cell in said for cell in ("47", "green", "secret"))


def test_a_line_of_names_is_asked_for_that_fits_the_rows(tmp_path: Path) -> None:
    said = refusal(tmp_path, "47,secret\n11,secret\n", MINUTES)
    assert "its first line seems to hold values; put a line with the names of all 2 columns above it" in said
    assert not any(cell in said for cell in ("47", "secret"))
    assert "put the line 'age' above it" in refusal(tmp_path, "47\n11\n", MINUTES, column="age")
    assert "put the line 'x,y' above it" in refusal(tmp_path, "1,1.5\n2,1.5\n", MAP)


def test_a_wrong_column_is_not_helped_by_leaving_rows_out(tmp_path: Path) -> None:
    text = "id,city\n1,secret\n2,other\n"
    for skip_bad in (False, True):
        said = refusal(tmp_path, text, MINUTES, column="city", skip_bad=skip_bad)
        assert said.endswith("; decimals need low, high and bins; is it the right column?")


@pytest.mark.parametrize("cell", ["", "secret", "4711"])
def test_what_helps_is_said_whatever_the_cell_holds(tmp_path: Path, cell: str) -> None:
    leave_out = "; --skip-bad leaves bad rows out"
    text = f"id,age\n1,5\n2,{cell}\n"
    clamp = "; --clamp moves numbers outside to the nearest end"
    assert refusal(tmp_path, text, MINUTES, column="age").endswith(
        f"value must be an integer in 0..63{clamp}{leave_out}"
    )
    colours = refusal(tmp_path, f"id,age\n1,red\n2,{cell}\n", COLOURS, column="age")
    exactly = "; a label counts only if capitals, spaces and the Unicode form of accents are the survey's"
    assert colours.endswith(f"line 3, column 2: value must be one of red, green, dark blue{exactly}{leave_out}")
    if cell != "4711":
        assert refusal(tmp_path, text, MINUTES, column="age", clamp=True).endswith(f"0..63{leave_out}")


def test_one_pass_counts_all_bad_rows_by_cause_and_shows_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "CHUNK_BYTES", 60)
    rows = ["1,5", "2,", "3,4711", "4", "5,secret", "6,7", "7,8,9", "8,-1", "9,6", "10,x", "11,7"]
    text = "id,age\n" + "\n".join(rows) + "\n"
    assert refusal(tmp_path, text, MINUTES, column="age") == (
        "people.csv: 7 of 11 rows are bad: 1 with fewer cells than the header, which has 2 (line 5); 1 with more cells "
        "than the header, which has 2 (line 8); 5 in column 2: value must be an integer in 0..63 (lines 3, 4, 6, ...); "
        "a number has a decimal point, no decimal comma; --clamp moves numbers outside to the nearest end; --skip-bad "
        "leaves bad rows out"
    )
    loaded = load(tmp_path, text, MINUTES, column="age", skip_bad=True)
    assert (loaded.values.tolist(), loaded.rows, loaded.left_out) == ([5, 7, 6, 7], 4, 7)
    both = load(tmp_path, text, MINUTES, column="age", skip_bad=True, clamp=True)
    assert (both.values.tolist(), both.clamped, both.left_out) == ([5, 63, 7, 0, 6, 7], 2, 5)


@pytest.mark.parametrize(
    ("text", "domain", "said", "left"),
    [
        ("value\n1\n\n\n2\n\n3\n\n", MINUTES, "3 of 6 rows are bad: 3 blank, where every", [1, 2, 3]),
        ("value\nred\nsecret\ndark blue\n4711\n", COLOURS, "in column 1: value must be one of red", [0, 2]),
        ("x,y\n1,0.5\n99,0.5\n2,secret\n,\n", MAP, "3 of 4 rows are bad: 2 in column 1: x must", [[1, 2]]),
        ("device,key,value\na,1,2\n ,1,2\nb,9,2\nb,1,3\na,1,5\nc,1,99\n", CUPS, "4 of 6 rows are bad: ", None),
    ],
)
def test_bad_rows_of_every_kind_are_left_out(
    tmp_path: Path, text: str, domain: Domain, said: str, left: list[Any] | None
) -> None:
    assert said in (refused := refusal(tmp_path, text, domain))
    assert not any(cell in refused for cell in ("secret", "4711", "99"))
    loaded = load(tmp_path, text, domain, skip_bad=True)
    if left is None:  # pairs: each device keeps those that can be read
        assert (loaded.values.sizes.tolist(), loaded.left_out) == ([1, 1], 4)
    else:
        assert loaded.values.tolist() == left


def test_a_file_of_bad_rows_only_is_refused_also_where_they_are_left_out(tmp_path: Path) -> None:
    assert "2 of 2 rows are bad" in refusal(tmp_path, "value\nx\ny\n", MINUTES, skip_bad=True)
    assert load(tmp_path, "value\n1\n", MINUTES, skip_bad=True).left_out == 0


def test_another_column_and_names_that_are_too_long(tmp_path: Path) -> None:
    assert load(tmp_path, "id,age\n9,33\n", MINUTES, column="age").values.tolist() == [33]
    assert "has no column 'age'" in refusal(tmp_path, "value\n9\n", MINUTES, column="age")
    assert "--column goes with surveys of one column" in refusal(tmp_path, "x,y\n1,0\n", MAP, column="x")
    assert "..." in refusal(tmp_path, f"a{'b' * 80}\n9\n", MINUTES)


@pytest.mark.parametrize("text", ["value\n-3\n64\n5\n1e9\n63.5\n", 'value\n"-3"\n"64"\n5\n1e9\n63.5\n'])
def test_numbers_are_clamped_and_counted_but_never_what_is_no_number(tmp_path: Path, text: str) -> None:
    loaded = load(tmp_path, text, MINUTES, clamp=True)
    assert (loaded.values.tolist(), loaded.clamped) == ([0, 63, 5, 63, 63], 4)
    for bad in ("nan", "inf", "tea", "5.5", ""):
        assert "line 2, column 1" in refusal(tmp_path, f'value\n"{bad}"\n99\n', MINUTES, clamp=True)


def test_attributes_of_whole_numbers_are_clamped(tmp_path: Path) -> None:
    domain = parse({"kind": "attributes", "attributes": [{"name": "level", "size": 5}, {"name": "ill", "size": 2}]})
    text = "level,ill\n9,1\n2,-1\n"
    assert "--clamp moves" in refusal(tmp_path, text, domain)
    loaded = load(tmp_path, text, domain, clamp=True)
    assert (loaded.values.tolist(), loaded.clamped) == ([[4, 1], [2, 0]], 2)


def test_codes_keys_and_labels_are_never_clamped(tmp_path: Path) -> None:
    assert "cannot be clamped" in refusal(tmp_path, "value\n9\n", CODES, clamp=True)
    assert "cannot be clamped" in refusal(tmp_path, "value\nred\n", COLOURS, clamp=True)
    loaded = load(tmp_path, "device,key,value\na,1,99\nb,2,5\nc,,\n", CUPS, clamp=True)
    assert loaded.clamped == 1
    assert "line 2, column 2: key" in refusal(tmp_path, "device,key,value\na,7,99\n", CUPS, clamp=True)


def test_gzip_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(b"value\n" + b"7\n" * 100_000)
    assert load(tmp_path, packed, MINUTES).rows == 100_000
    assert "people.csv: damaged gzip data" in refusal(tmp_path, packed[:-20], MINUTES)
    assert "people.csv: damaged gzip data" in refusal(tmp_path, packed[:50] + b"\0" * 50, MINUTES)
    assert "line 3, column 1" in refusal(tmp_path, gzip.compress(b"value\n1\nsecret\n"), MINUTES)
    for content in (b"value\n5\n6\n", gzip.compress(b"value\n5\n6\n")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert values.read("-", MINUTES).tolist() == [5, 6]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"value\nsecret\n")))
    with pytest.raises(ValuesError, match=r"^standard input: line 2, column 1"):
        values.read("-", MINUTES)


@pytest.mark.parametrize("reader", ["pyarrow", "polars"])
def test_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str) -> None:
    pytest.importorskip(reader)
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("hearsay.producer.values.parquet._READERS", (reader,))

    def file(**columns: Any) -> bytes:
        buffer = io.BytesIO()
        parquet.write_table(pyarrow.table(columns), buffer)
        return buffer.getvalue()

    assert load(tmp_path, file(value=[3, 63, 0]), MINUTES).values.tolist() == [3, 63, 0]
    assert load(tmp_path, file(value=["red", "dark blue"]), COLOURS).values.tolist() == [0, 2]
    short = pyarrow.array([1.1, 1.2], type=pyarrow.float32())
    assert load(tmp_path, file(size=short), HEIGHTS, column="size").values.tolist() == [1, 2]
    assert load(tmp_path, file(value=[-1, 5]), MINUTES, clamp=True).clamped == 1
    assert load(tmp_path, file(y=[0.5], x=[3]), MAP).values.tolist() == [[3, 2]]
    assert "row 2, column 'value': value must be an integer" in refusal(tmp_path, file(value=[3, 4711]), MINUTES)
    assert "row 2, column 'value': is empty" in refusal(tmp_path, file(value=[3, None]), MINUTES)
    holes = file(x=[3, None, 4, 99, 2], y=[0.5, 0.5, None, 0.5, 0.5])
    assert "3 of 5 rows are bad: 1 with an empty cell in column 'x' (row 2); 1 with" in refusal(tmp_path, holes, MAP)
    loaded = load(tmp_path, holes, MAP, skip_bad=True)
    assert (loaded.values.tolist(), loaded.left_out) == ([[3, 2], [2, 2]], 3)
    named = file(value=["None", None, "red"])
    assert load(tmp_path, named, COLOURS, skip_bad=True).values.tolist() == [0]
    assert "found: Value. Use --column Value." in refusal(tmp_path, file(Value=[3]), MINUTES)
    assert "cannot read" in refusal(tmp_path, file(value=[3])[:60], MINUTES)
    assert "no values" in refusal(tmp_path, file(value=pyarrow.array([], type=pyarrow.int64())), MINUTES)


def test_parquet_without_a_library_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hearsay.producer.values.parquet._READERS", ())
    assert "install pyarrow or polars" in refusal(tmp_path, b"PAR1....PAR1", MINUTES)


def test_progress_is_told_in_bytes_and_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "CHUNK_BYTES", 100)
    told: list[tuple[int, int | None, int]] = []
    load(tmp_path, "value\n" + "7\n" * 200, MINUTES, watch=lambda *progress: told.append(progress))
    assert len(told) > 2
    assert told[-1] == (406, 406, 200)


NUMBERS = st.one_of(
    st.integers(-(10**16), 10**16).map(str),
    st.decimals(-(10**7), 10**7, places=6, allow_nan=False).map(str),
    st.sampled_from(["0", "-0", ".5", "5.", "00012.50", "-.5", "123456789012345", "0.000000000000001", "1e3", " 3"]),
)
TEXTS = ["red", "green", "dark blue", "re", "redd", "grün", ""]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(NUMBERS, st.sampled_from(TEXTS)), max_size=9))
def test_plain_rows_are_read_as_row_by_row(rows: list[tuple[str, str]]) -> None:
    chunk = "".join(f"{number},{label},x.y\n" for number, label in rows).encode()
    forms = [(0, HEIGHTS.cells_in("value")), (1, COLOURS.cells_in("value"))]
    found = plain.columns(chunk, 3, forms)
    if found is None:
        return
    numbers, labels = found
    expected = np.array([float(number) for number, _ in rows])
    assert numbers.tobytes() == expected.tobytes()  # to the last bit, the sign of zero included
    known = {"red", "green", "dark blue"}
    assert list(labels) == [label if label in known else None for _, label in rows]


@pytest.mark.parametrize("row", ["1,2", "1\n", "", "1.2.3", "-", ".", "1_0", "0x1", "1234567890123456", '"1"', "1\r2"])
def test_what_is_not_plain_is_left_to_the_slow_reader(row: str) -> None:
    assert plain.columns(f"{row}\n".encode(), 1, [(0, MINUTES.cells_in("value"))]) is None


def test_plain_decimals_are_indeed_taken_by_numpy() -> None:
    found = plain.columns(b"1.25\n-0.1\n123456789.012345\n7\n", 1, [(0, MINUTES.cells_in("value"))])
    assert found is not None
    assert found[0].tolist() == [1.25, -0.1, 123456789.012345, 7.0]


@pytest.mark.parametrize("empty", ["", '""'])
def test_an_empty_text_is_a_bad_row(tmp_path: Path, empty: str) -> None:
    text = f"id,drink\n1,tea\n2,{empty}\n3,coffee\n"
    said = refusal(tmp_path, text, WORDS, column="drink")
    assert said == "people.csv: line 3, column 2: a text must not be empty; --skip-bad leaves bad rows out"
    loaded = load(tmp_path, text, WORDS, column="drink", skip_bad=True)
    assert (loaded.rows, loaded.left_out) == (2, 1)


def test_where_most_rows_are_bad_a_likely_reason_is_given(tmp_path: Path) -> None:
    commas = refusal(tmp_path, 'm\n"1,5"\n"1,25"\n1.5\n', HEIGHTS, column="m")
    assert "; numbers need a decimal point, no comma; --skip-bad" in commas
    assert "; decimals need low, high and bins; --skip-bad" in refusal(tmp_path, "value\n7.5\n8.25\n6\n", MINUTES)
    assert "decimals" not in refusal(tmp_path, "value\n7.5\n8\n6\n", MINUTES)


def test_the_header_of_texts_may_be_names_or_a_text(tmp_path: Path) -> None:
    for text, line in (
        ("secret\nother\n", "the line 'value'"),
        ("id,secret\n1,tea\n", "a line with the names of all 2 columns"),
    ):
        said = refusal(tmp_path, text, WORDS)
        assert said.endswith(f"If its first line has names, use --column NAME; else put {line} above it")
        assert "secret" not in said
