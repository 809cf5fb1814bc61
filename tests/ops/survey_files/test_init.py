"""`hearsay init` asks four questions at most and writes a file that `validate` takes."""

import io
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from hearsay.collector.survey.survey import load
from hearsay.ops.cli import cli, run
from hearsay.ops.survey_files.init import MINIMUM_REPORTS


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("categorical", ["--categories", "tea,coffee,mate"]),
        ("categorical", ["--size", "8"]),
        ("ordinal", ["--size", "64"]),
        ("binary", []),
        ("count", ["--size", "13"]),
        ("number", ["--size", "0,100"]),
        ("key-value", ["--categories", "ikiru,psycho", "--size", "1,5"]),
        ("key-value", ["--categories", "8", "--size", "-1,1"]),
        ("attributes", ["--categories", "smokes,sport"]),
        ("grid", ["--size", "8,4"]),
    ],
)
def test_what_is_given_is_not_asked(
    kind: str, values: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "survey.toml"
    assert run(["init", str(file), "--name", "first", "--kind", kind, *values, "--epsilon", "1.5"]) == 0
    survey = load(file)
    assert (survey.name, survey.mechanism.domain.kind, survey.epsilon) == ("first", kind, 1.5)
    assert survey.minimum_reports == MINIMUM_REPORTS
    assert run(["validate", str(file)]) == 0
    assert file.read_text().count("\n#") >= 4, "a commented file"
    assert "hearsay survey show" in capsys.readouterr().out


def test_four_questions_at_most(tmp_path: Path) -> None:
    file = tmp_path / "my drinks.toml"
    done = CliRunner().invoke(cli, ["init", str(file)], input="\n\ntea, coffee\n\n")
    assert done.exit_code == 0, done.output
    survey = load(file)
    assert survey.name == "my-drinks"
    assert survey.mechanism.domain.table()["categories"] == ["tea", "coffee"]
    assert survey.epsilon == 1.0


def test_without_a_terminal_defaults_are_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    file = tmp_path / "moods.toml"
    assert run(["init", str(file), "--kind", "categorical", "--categories", "good,bad"]) == 0
    assert (load(file).name, load(file).epsilon) == ("moods", 1.0)
    capsys.readouterr()
    assert run(["init", str(tmp_path / "drinks.toml")]) == 2
    assert "give --size or --categories: there is no terminal to ask" in capsys.readouterr().err
    assert not (tmp_path / "drinks.toml").exists()
    assert run(["init", str(tmp_path / "films.toml"), "--kind", "key-value", "--categories", "Dune,Alien"]) == 0
    assert load(tmp_path / "films.toml").mechanism.domain.table()["low"] == -1.0
    assert run(["init", str(tmp_path / "songs.toml"), "--kind", "key-value"]) == 2


@pytest.mark.parametrize(
    ("words", "typed"),
    [
        ([], "\n\nDune, Alien: 1,5\n\n"),
        ([], "\n\nDune, Alien\nDune, Alien: 5,1\nDune, Alien: 1,5\n\n"),
        (["--categories", "Dune,Alien"], "\n\n5,1\n1,5\n\n"),
        (["--size", "1,5"], "\n\nDune,Alien\n\n"),
        (["--categories", "Dune,Alien", "--size", "1,5"], "\n\n\n"),
    ],
)
def test_the_ends_of_a_key_s_values_are_asked_for(words: list[str], typed: str, tmp_path: Path) -> None:
    file = tmp_path / "films.toml"
    typed = typed.replace("\n\n", "\nkey-value\n", 1)
    done = CliRunner().invoke(cli, ["init", str(file), *words], input=typed)
    assert done.exit_code == 0, done.output
    table = load(file).mechanism.domain.table()
    assert (table["keys"], table["low"], table["high"]) == (["Dune", "Alien"], 1.0, 5.0)
    assert "# the lowest value that a device may report" in file.read_text()


def test_both_sizes_and_names_are_refused_once_the_kind_is_known(tmp_path: Path) -> None:
    words = ["init", str(tmp_path / "a.toml"), "--size", "2", "--categories", "a,b"]
    done = CliRunner().invoke(cli, words, input="\ncategorical\n")
    assert "give --size or --categories, and not both" in str(done.exception) + done.output


def test_labels_with_commas_stand_in_quotes(tmp_path: Path) -> None:
    file = tmp_path / "city.toml"
    words = ["--name", "city", "--kind", "categorical", "--epsilon", "1"]
    assert run(["init", str(file), *words, "--categories", 'New York, "Zürich","Washington, D.C."']) == 0
    assert load(file).mechanism.domain.table()["categories"] == ["New York", "Zürich", "Washington, D.C."]


def test_values_of_attributes_with_commas_stand_in_quotes_too(tmp_path: Path) -> None:
    for number, given in enumerate(('city=Paris|"Washington, D.C."|"a ""b"""', '"city=Paris|Washington, D.C.|a "b""')):
        file = tmp_path / f"{number}.toml"
        words = ["--name", "city", "--kind", "attributes", "--epsilon", "1", "--categories", f"age=to 39|40+,{given}"]
        assert run(["init", str(file), *words]) == 0
        ages, cities = load(file).mechanism.domain.table()["attributes"]
        assert ages == {"name": "age", "categories": ["to 39", "40+"]}
        assert cities == {"name": "city", "categories": ["Paris", "Washington, D.C.", 'a "b"']}


def test_numbers_with_decimals_are_ends_with_bins_and_no_labels(tmp_path: Path) -> None:
    file = tmp_path / "hours.toml"
    typed = ["", "ordinal", "0,24.5", "0,24.5,49", "1", ""]
    done = CliRunner().invoke(cli, ["init", str(file)], input="\n".join(typed))
    assert done.exit_code == 0, done.output
    assert "or LOW,HIGH,BINS for numbers with decimals" in done.output
    assert load(file).mechanism.domain.table() == {"kind": "ordinal", "low": 0.0, "high": 24.5, "bins": 49}


def test_the_labels_of_a_yes_or_no_may_be_given(tmp_path: Path) -> None:
    file = tmp_path / "smoker.toml"
    assert run(["init", str(file), "--name", "s", "--kind", "binary", "--categories", "no,yes", "--epsilon", "1"]) == 0
    assert load(file).mechanism.domain.table()["categories"] == ["no", "yes"]


def test_the_length_of_texts_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "drink.toml"
    done = CliRunner().invoke(cli, ["init", str(file)], input="\n".join(["", "text", "12", "1", ""]))
    assert done.exit_code == 0, done.output
    assert load(file).mechanism.domain.table()["length"] == 12


def test_a_slip_is_asked_again(tmp_path: Path) -> None:
    file = tmp_path / "age.toml"
    typed = ["Age Survey", "age", "ordnal", "ordinal", "18-99", "0", "much", "1", ""]
    done = CliRunner().invoke(cli, ["init", str(file)], input="\n".join(typed))
    assert done.exit_code == 0, done.output
    assert done.output.count("Error: ") == 4
    survey = load(file)
    assert survey.mechanism.domain.table() == {"kind": "ordinal", "first": 18, "last": 99}
    assert (survey.name, survey.epsilon) == ("age", 1.0)


@pytest.mark.parametrize("ends", ["-3,6", "-3-6", "-3 to 6", "-3..6"])
def test_whole_numbers_may_begin_anywhere(ends: str, tmp_path: Path) -> None:
    file = tmp_path / "degrees.toml"
    words = ["--name", "degrees", "--kind", "ordinal", "--epsilon", "1"]
    assert run(["init", str(file), *words, f"--size={ends}"]) == 0
    assert load(file).mechanism.domain.table() == {"kind": "ordinal", "first": -3, "last": 6}


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "survey.toml"
    file.write_text("mine")
    assert run(["init", str(file), "--kind", "binary", "--epsilon", "1", "--name", "a"]) == 2
    assert file.read_text() == "mine"
    assert "exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--kind", "ordinall"], "key-value, number, text, got 'ordinall'; the nearest: ordinal"),
        (["--kind", "categorical", "--categories", 'a,"b'], "names must be in pairs of double quotes or without"),
        (
            ["--kind", "attributes", "--categories", "city=Paris|Washington, D.C., smokes=no|yes"],
            "attribute must be NAME=VALUE|VALUE, as the others are, got 'D.C.'; a value with a comma stands in double",
        ),
        (["--kind", "ordinal", "--size", "many"], "size must be a whole number"),
        (["--kind", "ordinal", "--size", "0.5,9.5"], "or LOW,HIGH,BINS for numbers with decimals"),
        (["--kind", "number", "--size", "3"], "size must be two numbers"),
        (["--kind", "grid", "--categories", "a,b"], "--categories goes with"),
        (["--kind", "ordinal", "--size", "8", "--categories", "a,b"], "and not both"),
    ],
)
def test_refusals(words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", str(tmp_path / "a.toml"), "--name", "a", "--epsilon", "1", *words]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "a.toml").exists()


def test_a_matrix_is_written_out(tmp_path: Path) -> None:
    """Devices that read the file must not solve it themselves: another solver might find another matrix."""
    file = tmp_path / "pay.toml"
    assert run(["init", str(file), "--name", "pay", "--kind", "number", "--size", "0,9", "--epsilon", "1"]) == 0
    written = tomllib.loads(file.read_text())["options"]["table"]
    assert written == load(file).canonical()["options"]["table"]
