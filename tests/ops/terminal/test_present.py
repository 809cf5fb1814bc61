"""Data for people and for programs."""

import json

import pytest

from hearsay.ops.terminal.present import counted, notes, print_json, print_table, rows_within, say, show


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (True, "yes"),
        (1234567, "1,234,567"),
        (0.123456, "0.1235"),
        (1e-7, "1e-07"),
        ("caf\u00e9 \u6771", "caf\u00e9 \u6771"),
        ("\x1b[2Jred\u202e", "\\x1b[2Jred\\u202e"),
        (9085.4, "9,085"),
        (999.9, "999.9"),
        (999.97, "1,000"),
        (28_671.3, "28,671"),
        (-138_912.7, "-138,913"),
        ([1.0, 2.5], "1 .. 2.5"),
        ({"x": 1, "y": "a"}, "x 1, y a"),
        ("text", "text"),
    ],
)
def test_values_are_readable(value: object, text: str) -> None:
    assert show(value) == text


def test_what_is_counted_is_one_or_many() -> None:
    assert [counted(number, "report") for number in (0, 1, 2_000)] == ["0 reports", "1 report", "2,000 reports"]
    assert counted(2, "entry", "entries") == "2 entries"


def test_json_has_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    print_json([{"value": None}])
    assert json.loads(capsys.readouterr().out) == [{"value": None}]
    with pytest.raises(ValueError):
        print_json([float("nan")])


def test_numbers_stand_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("t", ("name", "number"), [["a", 1], ["b", -1e-9], ["c", None]])
    assert capsys.readouterr().out.splitlines() == [
        "t",
        "name  number",
        "────────────",
        "a          1",
        "b     -1e-09",
        "c          -",
    ]


def test_labels_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("[b]t[/b]", ("label",), [["[red]apple[/red]"], ["[/closed]"]], caption="[c]")
    shown = capsys.readouterr().out
    assert all(text in shown for text in ("[b]t[/b]", "[red]apple[/red]", "[/closed]", "[c]"))


def test_remarks_are_not_broken_up_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    remark = "a remark of some words " * 6
    notes().print(remark.strip(), markup=False)
    assert capsys.readouterr().err.splitlines() == [remark.strip()]


def test_sentences_are_broken_between_words_where_the_terminal_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = "predicted standard error of single values: olh 0.00521, grr 0.00582 " * 4
    say(sentence.strip())
    assert capsys.readouterr().out.splitlines() == [sentence.strip()]
    monkeypatch.setenv("COLUMNS", "80")
    say(sentence.strip())
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert " ".join(lines).split() == sentence.split()


def test_rows_are_counted_by_the_lines_that_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    narrow, wide = ["n"], [f"a long heading {number}" for number in range(12)]
    rows = [[number] for number in range(100)]
    assert rows_within(narrow, rows, 24) == 22  # and the heading with its rule
    assert rows_within(narrow, rows[:22], 24) == 22
    assert 1 < rows_within(wide, [row * 12 for row in rows], 24) < 8  # blocks of several lines
    assert rows_within(wide, [row * 12 for row in rows], 1) == 1
    assert rows_within(narrow, [], 24) == 0
