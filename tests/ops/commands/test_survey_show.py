"""`hearsay survey show`: advice on bins, several surveys about one value, and the bytes of a report."""

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from hearsay.collector.survey import toml
from hearsay.collector.survey.survey import load
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.metric.bounds import advised_bins
from hearsay.ops import cli
from hearsay.producer.device import Device

SURVEY = """
name = "{name}"
mechanism = "{mechanism}"
epsilon = {epsilon}
[domain]
kind = "ordinal"
"""
METRES = "low = 0.0\nhigh = 80.0\nbins = 80\n"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.chdir(tmp_path)

    def survey(name: str, epsilon: float, domain: str, mechanism: str = "metric-l1") -> str:
        Path(f"{name}.toml").write_text(SURVEY.format(name=name, epsilon=epsilon, mechanism=mechanism) + domain)
        return f"{name}.toml"

    return survey


def shown(capsys: pytest.CaptureFixture[str], *names: str) -> tuple[str, dict]:
    """What is printed, on one line, and as JSON."""
    assert cli.run(["survey", "show", *names]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert cli.run(["survey", "show", "--json", *names]) == 0
    return text, json.loads(capsys.readouterr().out)


def test_a_continuous_axis_gets_advice_on_its_bins(write, capsys: pytest.CaptureFixture[str]) -> None:
    text, data = shown(capsys, write("length", 0.5, METRES))
    (line,) = data["advice"]
    assert line in text
    for reports in (10_000, 1_000_000):
        assert f"{advised_bins(0.5, 80.0, reports)} bins at {reports:,} reports" in line
    assert "two values on either side of a bin's edge get a whole bin's epsilon, however close they are" in text


def test_other_surveys_get_none(write, capsys: pytest.CaptureFixture[str]) -> None:
    for name in (write("steps", 0.5, "size = 80\n"), write("levels", 0.5, "size = 16\n", "haar")):
        text, data = shown(capsys, name)
        assert "advice" not in data
        assert "bin's edge" not in text


def test_ranges_over_many_cells_are_told_of_rising_shares(write, capsys: pytest.CaptureFixture[str]) -> None:
    text, data = shown(capsys, write("levels", 0.5, METRES, "haar"))
    (line,) = data["advice"]
    assert line in text
    assert "isotonic" in line
    assert "biased" in line


def test_a_grid_has_no_rising_shares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`isotonic` needs one axis: it must not be recommended where it is refused."""
    path = tmp_path / "grid.toml"
    path.write_text(
        'name = "g"\nmechanism = "hierarchical"\nepsilon = 1.0\n[domain]\nkind = "grid"\nsizes = [16, 16]\n'
    )
    text, data = shown(capsys, str(path))
    assert "advice" not in data
    assert "isotonic" not in text


def test_surveys_about_one_value_add_up(write, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = write("one", 0.5, "size = 8\n"), write("two", 0.25, "size = 8\n")
    text, data = shown(capsys, one, two)
    assert data["surveys"] == ["one", "two"]
    assert data["guarantee"]["epsilon"] == 0.75
    assert "one, two, all answered by one device:" in text
    assert "e^(0.75 k)" in text
    text, data = shown(capsys, one, write("three", 1.0, "size = 8\n", "haar"))
    assert [part["kind"] for part in data["guarantee"]["parts"]] == ["metric", "pure"]
    assert "whose exponents add for every pair of values" in text


def test_surveys_about_different_values_do_not(write, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["survey", "show", write("one", 0.5, "size = 8\n"), write("two", 0.5, "size = 9\n")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    message = "surveys shown together must have the same domain, got another one in two than in one"
    assert captured.err == f"hearsay: {message}\n"


def test_quantiles_carry_the_theorem_beside_the_band(write, capsys: pytest.CaptureFixture[str]) -> None:
    survey, literal = write("length", 0.5, METRES), write("literal", 0.5, METRES + "[options]\nanchored = false\n")
    Path("values.csv").write_text("value\n" + "12\n30\n31\n60\n" * 500)
    bounds = []
    for name in (survey, literal):
        snapshot = name.removesuffix(".toml")
        assert cli.run(["simulate", name, "--values", "values.csv", "--out", snapshot, "--seed", "2"]) == 0
        capsys.readouterr()
        assert cli.run(["query", "--snapshot", snapshot, "--json", "quantile", "0.5"]) == 0
        (found,) = json.loads(capsys.readouterr().out)
        assert found["rank_bound"] > 1.96 * found["rank_stderr"] > 0
        bounds.append(found["rank_bound"])
    assert bounds[1] == pytest.approx(2 * bounds[0])
    assert cli.run(["query", "--snapshot", "literal", "quantile", "0.5"]) == 0
    assert "; rank within " in capsys.readouterr().out


@pytest.mark.parametrize("size", [100, 300, 70_000])
def test_no_report_is_longer_than_what_is_printed(size: int, write, capsys: pytest.CaptureFixture[str]) -> None:
    """Row 11: of reports that were said to take at most 2 bytes most took 3, with the header that comes before them."""
    name = write("bytes", 1.0, f"size = {size}\n", "grr")
    text, _ = shown(capsys, name)
    said = re.search(r"at most ([\d,]+) bytes?", text)
    assert said is not None
    device = Device(load(name), seeded(1))
    lengths = [len(device.report(value)) for value in np.linspace(0, size - 1, 200).astype(int).tolist()]
    assert max(lengths) == int(said[1])


def test_shuffled_reports(write: object, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("steps", 1.1, "size = 64\n", "haar")  # type: ignore[operator]
    text, table = shown(capsys, path, "--shuffled", "10000")
    assert table["shuffled"] == {**table["shuffled"], "reports": 10_000, "delta": 1e-6}
    assert table["shuffled"]["epsilon"] == pytest.approx(0.0490, abs=1e-4)
    assert "shuffled with 9,999 others has epsilon 0.049" in text


def test_shuffled_needs_a_pure_epsilon(write: object, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("metres", 1.0, METRES)  # type: ignore[operator]
    assert cli.run(["survey", "show", path, "--shuffled", "100"]) == 2
    assert "metric-l1 promises something else" in capsys.readouterr().err
    pure = write("pure", 1.0, "size = 64\n", "haar")  # type: ignore[operator]
    assert cli.run(["survey", "show", pure, "--shuffled", "0"]) == 2


def test_the_file_can_be_copied_from_a_narrow_terminal(
    write, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = write("narrow", 1.0, "size = 181\n", "hierarchical")
    monkeypatch.setenv("COLUMNS", "60")
    assert cli.run(["survey", "show", name]) == 0
    promise, printed, _ = capsys.readouterr().out.split("\n\n", maxsplit=2)
    survey = load(Path(name))
    assert " ".join(promise.split()) == survey.mechanism.guarantee.words(), "what is promised comes first"
    assert max(len(line) for line in printed.splitlines()[1:]) > 60, "a line that a terminal would break"
    assert tomllib.loads(printed) == tomllib.loads(toml.dump(survey.canonical()))


def test_a_long_matrix_is_folded(write, capsys: pytest.CaptureFixture[str]) -> None:
    name = write("pay", 1.0, "", "mean")
    Path(name).write_text(Path(name).read_text().replace("ordinal", "number") + "low = 0\nhigh = 9\n")
    text, description = shown(capsys, name)
    assert "# table: 9 x 33 integers; --json has them" in text
    assert len(description["definition"]["options"]["table"]) == 9
    assert len(text) < 2_000
