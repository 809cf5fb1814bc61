"""Values come from CSV files by header name; a bad cell is located and never shown."""

import io
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from hearsay.mechanisms.catalogue import parse_domain as parse
from hearsay.mechanisms.domains.domain import Domain
from hearsay.producer import values
from hearsay.producer.errors import ValuesError
from hearsay.producer.values import table

COLOURS = parse({"kind": "categorical", "categories": ["red", "green", "blue, dark"]})
MINUTES = parse({"kind": "ordinal", "size": 64})
HEIGHTS = parse({"kind": "ordinal", "low": 1.0, "high": 2.0, "bins": 10})
MAP = parse({"kind": "grid", "axes": [{"name": "x", "size": 8}, {"name": "y", "low": 0, "high": 1, "bins": 4}]})

CUPS = parse({"kind": "key-value", "keys": ["tea", "milk"], "low": 0, "high": 10})


def _file(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "values.csv"
    file.write_text(text, encoding="utf-8")
    return file


def read(tmp_path: Path, text: str, domain: Domain) -> np.ndarray:
    return values.read(_file(tmp_path, text), domain)


def test_labels_integers_and_bins(tmp_path: Path) -> None:
    assert read(tmp_path, 'value\ngreen\n"blue, dark"\nred\n', COLOURS).tolist() == [1, 2, 0]
    assert read(tmp_path, "value\n63\n0\n", MINUTES).tolist() == [63, 0]
    assert read(tmp_path, "value\n1.0\n1.55\n2.0\n", HEIGHTS).tolist() == [0, 5, 9]


def test_columns_go_by_name_in_any_order_and_others_are_ignored(tmp_path: Path) -> None:
    text = "\ufeffnote,y,x\r\nsomething,0.9,3\r\n\r\nelse,0.1,7\r\n"
    assert read(tmp_path, text, MAP).tolist() == [[3, 3], [7, 0]]


def test_unnamed_axes_are_axis1_and_axis2(tmp_path: Path) -> None:
    assert read(tmp_path, "axis2,axis1\n1,2\n", parse({"kind": "grid", "sizes": [3, 2]})).tolist() == [[2, 1]]


def test_large_files_are_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "CHUNK_BYTES", 70)
    cells = np.arange(1000) % 64
    assert (read(tmp_path, "value\n" + "\n".join(map(str, cells)), MINUTES) == cells).all()


def test_a_device_may_stand_in_several_blocks_but_hold_a_key_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "BLOCK_ROWS", 2)
    text = "device,key,value\na,tea,1\nb,tea,2\nc,,\na,milk,3\n"
    pairs = values.read(_file(tmp_path, text), CUPS)
    assert pairs.sizes.tolist() == [2, 1, 0]
    repeated = _file(tmp_path, text + "b,tea,5\na,tea,1\nc,beer,1\n")
    causes = (
        "1 in column 2: key must be one of tea, milk (line 8); "
        "2 in column 2: key must differ from the device's other keys (lines 6, 7)"
    )
    with pytest.raises(ValuesError, match=re.escape(f"values.csv: 3 of 7 rows are bad: {causes}")):
        values.read(repeated, CUPS)
    loaded = values.load(repeated, CUPS, skip_bad=True)
    assert (loaded.values.sizes.tolist(), loaded.rows, loaded.left_out) == ([2, 1, 0], 4, 3)


def test_what_can_be_read_only_once_is_refused_without_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "BLOCK_ROWS", 1)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"device,key,value\na,tea,1\na,tea,2\n")))
    with pytest.raises(ValuesError, match=r"standard input: key must differ .*; in a file, the lines would be named"):
        values.load("-", CUPS, skip_bad=True)


@pytest.mark.parametrize(
    ("text", "domain", "message"),
    [
        ("value\n3\nsecret\n", MINUTES, "line 3, column 1: value must be an integer in 0..63; --clamp moves"),
        ("value\n3\n4711\n", MINUTES, "line 3, column 1"),
        ("value\n0.5\n", MINUTES, "line 2, column 1"),
        ("value\nnan\n", MINUTES, "line 2, column 1"),
        ("value\nnan\n", HEIGHTS, "line 2, column 1: value must be a number in 1..2"),
        ("value\ninf\n", HEIGHTS, "line 2, column 1"),
        ("value\nsecret\n", COLOURS, "line 2, column 1: value must be one of red, green"),
        (
            'note,y,x\n"two\nlines",0.5,1\n,0.5,secret\n',
            MAP,
            "line 4, column 3: x must be an integer in 0..7; --clamp moves",
        ),
        ("x,y\n1,0.5\n1\n", MAP, "line 3 must have 2 cells like the header, got 1"),
        ("x\n1\n", MAP, "has no column 'y'; found: x. Rename 'x' in the header."),
        ("x,y,x\n1,1,1\n", MAP, "must name column 'x' once, got it 2 times"),
        ("", MINUTES, "is empty; its first line must name the columns value"),
        ("value\n", MINUTES, "has a header but no values"),
        ('value\n"secret\n', MINUTES, "is not valid CSV"),
        ("device,key,value\na,tea,1\nb,,4711\n", CUPS, "line 3, column 2: key must be one of tea, milk"),
        ("device,key,value\na,tea,1\nb,tea,2\na,tea,4711\n", CUPS, "line 4, column 3: value must be a number"),
        ("device,key,value\na,tea,1\nb,tea,2\na,tea,3\n", CUPS, "line 4, column 2: key must differ"),
        ("device,key,value\n ,tea,1\n", CUPS, "line 2, column 1: device must not be empty"),
    ],
)
def test_bad_files_are_located_and_never_quoted(tmp_path: Path, text: str, domain: Domain, message: str) -> None:
    with pytest.raises(ValuesError) as caught:
        read(tmp_path, text, domain)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "4711" not in str(caught.value)


def test_a_missing_file_and_one_that_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(ValuesError, match="No such file"):
        values.read(tmp_path / "none.csv", MINUTES)
    (tmp_path / "binary.csv").write_bytes(b"value\n\xff\xfe\n")
    with pytest.raises(ValuesError, match=r"line 2, column 1: must be UTF-8 text; .*: iconv -f WINDOWS-1252 -t UTF-8 "):
        values.read(tmp_path / "binary.csv", MINUTES)
    (tmp_path / "unicode.csv").write_text("value\n1\n", encoding="utf-16")
    with pytest.raises(ValuesError, match=r"line 1, column 1: must be UTF-8 text; .*: iconv -f UTF-16 -t UTF-8 "):
        values.read(tmp_path / "unicode.csv", MINUTES)
