"""`hearsay query`: what the options add to a table and to JSON, and how they refuse."""

import json
import re
from pathlib import Path

import pytest

from hearsay.estimator.serving import page
from hearsay.mechanisms.estimates.postprocess import WITH_INTERVAL
from hearsay.ops import cli

ASSETS = Path(page.__file__).parent / "assets"

SURVEY = """
name = "people"
mechanism = "{mechanism}"
epsilon = 2.0
[domain]
kind = "ordinal"
size = 8
[answers]
postprocess = "{postprocess}"
"""


def simulated(folder: Path, mechanism: str, postprocess: str, capsys: pytest.CaptureFixture[str]) -> str:
    (folder / "survey.toml").write_text(SURVEY.format(mechanism=mechanism, postprocess=postprocess))
    (folder / "values.csv").write_text("value\n" + "1\n2\n2\n5\n" * 500)
    words = [
        "simulate",
        str(folder / "survey.toml"),
        "--values",
        str(folder / "values.csv"),
        "--out",
        str(folder / "s"),
    ]
    assert cli.run([*words, "--seed", "3"]) == 0
    capsys.readouterr()
    return str(folder / "s")


def table_of(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """The names of the columns."""
    assert cli.run(["query", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    ruled = next(number for number, line in enumerate(lines) if line.startswith("──"))
    return re.split(r" {2,}", lines[ruled - 1].strip())


def line_of(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The first line."""
    assert cli.run(["query", *words]) == 0
    return capsys.readouterr().out.splitlines()[0]


FIELDS = {"query", "item", "value", "stderr", "low", "high"}
PLAIN = ["item", "value", "stderr", "low", "high"]
PROCESSED = ["item", "norm-sub", "raw", "stderr", "low", "high"]


def test_columns_say_what_was_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = simulated(tmp_path, "haar", "norm-sub", capsys)
    asked = ["--snapshot", directory]
    assert table_of(capsys, *asked, "frequencies") == PROCESSED
    assert table_of(capsys, *asked, "frequencies", "--postprocess", "none") == PLAIN
    assert "norm-sub" not in line_of(capsys, *asked, "range", "1", "2"), "a projection has no meaning for sums"
    assert re.search(r"point 1: \S+ after norm-sub; raw \S+ \(", line_of(capsys, *asked, "point", "1"))
    assert table_of(capsys, *asked, "top", "2", "--simultaneous") == [*PROCESSED, "all low", "all high"]
    quantiles = table_of(capsys, *asked, "quantile", "0.5", "0.9", "--postprocess", "isotonic")
    assert quantiles == ["query", "isotonic", "raw", "stderr", "low", "high", "rank stderr"], "their band once"


def test_the_interval_of_smooth_stands_behind_its_own_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "survey.toml").write_text(
        SURVEY.format(mechanism="hierarchical", postprocess="none").replace("8", "64")
    )
    survey, out = str(tmp_path / "survey.toml"), str(tmp_path / "s")
    words = ["simulate", survey, "--devices", "20000", "--distribution", "cauchy", "--out", out, "--seed", "1"]
    assert cli.run(words) == 0
    capsys.readouterr()
    asked = ["--snapshot", str(tmp_path / "s"), "--postprocess", "smooth"]
    line = line_of(capsys, *asked, "range", "30", "45")
    found = re.fullmatch(r"range 30 45: (\S+) \((\S+) to (\S+)\), 95%, after smooth; raw \S+", line)
    assert found is not None, line
    value, low, high = map(float, found.groups())
    assert low < value < high
    assert table_of(capsys, *asked, "cdf") == ["item", "smooth", "low", "high", "raw", "stderr"]


def test_the_page_knows_which_method_has_an_interval_of_its_own() -> None:
    assert f'OWN_BAND = "{"|".join(WITH_INTERVAL)}";' in (ASSETS / "words.js").read_text()


def test_json_fields_appear_only_when_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = simulated(tmp_path, "haar", "none", capsys)

    def fields(*words: str) -> set[str]:
        assert cli.run(["query", "--snapshot", directory, *words, "--json"]) == 0
        return set(json.loads(capsys.readouterr().out)[0])

    assert fields("frequencies") == FIELDS
    assert fields("cdf", "--simultaneous") == {*FIELDS, "simultaneous"}
    assert fields("cdf", "--postprocess", "isotonic", "--count") == {*FIELDS, "postprocess", "raw"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["point", "1", "--postprocess", "round"], "postprocess must be one of none"),
        (["point", "1", "--postprocess"], "requires an argument"),
        (["quantile", "0.5", "--postprocess", "clip"], "postprocess clip applies to"),
        (
            ["cdf", "--postprocess", "simplex"],
            "postprocess simplex applies to point, frequencies, top, got cdf",
        ),
        (
            ["range", "1", "2", "--simultaneous"],
            "simultaneous applies to cdf, histogram, frequencies, top, got range",
        ),
    ],
)
def test_refusals_are_one_line_and_two(
    words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = simulated(tmp_path, "haar", "none", capsys)
    assert cli.run(["query", "--snapshot", directory, *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert says in line


def test_a_chosen_mechanism_is_named_while_simulating(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "survey.toml").write_text(SURVEY.format(mechanism="auto", postprocess="none"))
    (tmp_path / "values.csv").write_text("value\n" + "1\n" * 300)
    words = ["simulate", str(tmp_path / "survey.toml"), "--values", str(tmp_path / "values.csv")]
    assert cli.run([*words, "--out", str(tmp_path / "out"), "--seed", "1", "--json"]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert document["mechanism"] == document["definition"]["mechanism"] != "auto"
    said = " ".join(captured.err.split())
    assert f"mechanism chosen automatically: {document['mechanism']}: " in said


def test_two_snapshots_give_differences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder in folders:
        folder.mkdir()
    one, other = simulated(folders[0], "haar", "none", capsys), simulated(folders[1], "grr", "none", capsys)
    asked = ["--snapshot", one, "--against", other]
    assert re.search(r"^point 2: \S+ \(\S+ to \S+\), 95%; \S+ less \S+; p \S+$", line_of(capsys, *asked, "point 2"))
    assert table_of(capsys, *asked, "frequencies") == [*PLAIN, "p", "p adjusted", "a", "b"]
    assert cli.run(["query", *asked, "range", "1", "2", "--json"]) == 2
    assert "cannot answer range" in capsys.readouterr().err
    assert cli.run(["query", "--snapshot", one, "--against", one, "point", "2"]) == 2
    assert "other windows" in capsys.readouterr().err
    assert cli.run(["query", "--snapshot", one, "trend", "point", "2"]) == 2
    assert "a survey on a server" in capsys.readouterr().err
