"""Words of a question that look like options."""

import json
from pathlib import Path

import pytest

from hearsay.ops import cli

SURVEY = """
name = "marks"
mechanism = "hrr"
epsilon = 9.0
[domain]
kind = "categorical"
categories = ["-minus", "--count", "plus"]
"""


def test_a_label_that_looks_like_an_option_comes_after_two_dashes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    survey, values, out = tmp_path / "marks.toml", tmp_path / "marks.csv", tmp_path / "out"
    survey.write_text(SURVEY, encoding="utf-8")
    values.write_text("value\n" + "-minus\n--count\nplus\nplus\n" * 250, encoding="utf-8")
    assert cli.run(["simulate", str(survey), "--values", str(values), "--out", str(out), "--seed", "1"]) == 0
    capsys.readouterr()
    for label in ("-minus", "--count"):
        assert cli.run(["query", "--snapshot", str(out), "--json", "point", "--", label]) == 0
        (answer,) = json.loads(capsys.readouterr().out)
        assert answer["item"] == label
        assert 0.1 < answer["value"] < 0.4
    assert cli.run(["query", "--snapshot", str(out), "point", "-minus"]) == 2
    assert capsys.readouterr().err == "hearsay: No such option '-minus'. (see `hearsay query --help`)\n"
