"""Every registered mechanism as a user meets it: a file of values in labels, `simulate`, then `query`."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hearsay.collector.survey import toml
from hearsay.collector.survey.survey import Survey, parse
from hearsay.mechanisms.domains.axis import Axis
from hearsay.ops import cli
from tests.mechanisms.shared import CASES, Case

REPORTS = 20_000
GROSS = 6.0  # standard errors; a correct program is further off less than once in 10^8 answers


def word(axis: Axis, index: int) -> str:
    """A value of a cell, as people write it: the label, the integer, or the middle of the bin."""
    item = axis.item(index)
    return repr((item[0] + item[1]) / 2) if isinstance(item, list) else str(item)


def people(survey: Survey) -> NDArray[np.int64]:
    """Cells, row-major: the further on, the more frequent, and none of them rare."""
    size = survey.mechanism.domain.size
    weights = np.arange(1, size + 1)
    return np.repeat(np.arange(size), np.maximum(weights * REPORTS // weights.sum(), 1))


def write_values(path: Path, survey: Survey, cells: NDArray[np.int64]) -> None:
    axes = survey.mechanism.domain.axes
    columns = np.unravel_index(cells, survey.mechanism.domain.shape)
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([axis.name for axis in axes])
        words = ([word(axis, int(cell)) for cell in column] for axis, column in zip(axes, columns, strict=True))
        rows.writerows(zip(*words, strict=True))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_from_a_file_of_values_to_answers(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    survey = parse({"name": "example", **case.table})
    cells, domain = people(survey), survey.mechanism.domain
    survey_file, values_file, out = tmp_path / "survey.toml", tmp_path / "values.csv", tmp_path / "out"
    survey_file.write_text(toml.dump({"name": "example", **case.table}), encoding="utf-8")
    write_values(values_file, survey, cells)

    def run(*words: str) -> Any:
        assert cli.run([*words, "--json"]) == 0, capsys.readouterr().err
        return json.loads(capsys.readouterr().out)

    def ask(*words: str) -> Any:
        return run("query", "--snapshot", str(out), *words)

    document = run("simulate", str(survey_file), "--values", str(values_file), "--out", str(out), "--seed", "7")
    assert (document["reports"], document["rejected"], document["mechanism"]) == (len(cells), {}, survey.mechanism.ID)

    truth = np.bincount(cells, minlength=domain.size) / len(cells)
    found = ask("frequencies", "--simultaneous")
    names = [each["cell"] if domain.kind == "grid" else each["item"] for each in found]
    assert len(found) == domain.size
    errors = [(each["value"] - share, each["stderr"]) for each, share in zip(found, truth, strict=True)]
    assert all(abs(error) <= GROSS * stderr + 1e-9 for error, stderr in errors if stderr is not None)

    middle = np.unravel_index(domain.size // 2, domain.shape)
    words = [word(axis, int(index)) for axis, index in zip(domain.axes, middle, strict=True)]
    (point,) = ask("point", *words)
    assert point["value"] == pytest.approx(found[domain.size // 2]["value"])
    assert names[domain.size // 2] == point.get("item", point.get("cell"))

    processed = ask("frequencies", "--postprocess", "simplex")
    assert sum(each["value"] for each in processed) == pytest.approx(1.0)
    assert [each["raw"] for each in processed] == pytest.approx([each["value"] for each in found])
    by_value = [each["value"] for each in ask("top", "3")]
    assert by_value == sorted(by_value, reverse=True)
