"""Snapshots whose files agree with each other and still cannot be: refused in one line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hearsay.collector.survey.survey import Survey, parse
from hearsay.estimator.errors import SnapshotError
from hearsay.estimator.snapshots.content import compose
from hearsay.estimator.snapshots.files import checksum, write
from hearsay.estimator.snapshots.loading import load
from hearsay.ops import cli
from tests.estimator.surveys import colours, state_of


def forged(folder: Path, survey: Survey, state: dict[str, Any] | None = None, **said: Any) -> Path:
    """A snapshot with another state or document, and the checksum that fits it; ... leaves a field out."""
    content = compose(survey, "all", state_of(survey, 200))
    if state is not None:
        assert set(state) <= set(content.state)
        content.state.update({name: np.array(array, dtype=np.int64) for name, array in state.items()})
    write(folder, content)
    document = json.loads((folder / "snapshot.json").read_text()) | said
    document = {name: value for name, value in document.items() if value is not ...}
    document["checksum"] = checksum(document, folder / "arrays.npz")
    (folder / "snapshot.json").write_text(json.dumps(document))
    return folder


@pytest.mark.parametrize("reports", [..., None, "200", -1, 2.5, True, [200]])
def test_a_number_of_reports_that_is_none(tmp_path: Path, reports: Any) -> None:
    with pytest.raises(SnapshotError, match="is not a snapshot: "):
        load(forged(tmp_path, colours(), reports=reports))


def test_numbers_beyond_all_reports(tmp_path: Path) -> None:
    survey = parse({"name": "a", "mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 3}})
    with pytest.raises(SnapshotError, match=r"array state/hist: accumulator would overflow 2\^62"):
        load(forged(tmp_path, survey, {"hist": [1 << 62, 0, 0]}))


HIGH_LOW: dict[str, Any] = {
    "name": "a",
    "mechanism": "highlow-hr",
    "epsilon": 0.5,
    "domain": {"kind": "categorical", "size": 4, "sensitive": [0]},
}


def test_a_state_that_no_reports_make(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A count below zero would have been the root of a negative number."""
    survey = parse(HIGH_LOW)
    size = survey.mechanism.arrays["hist"][0]
    counts = [-1_000_000, *[0] * (size - 2), 1_000_200]
    forged(tmp_path, survey, {"hist": counts}, reports=200)
    with pytest.raises(SnapshotError, match="the counts are impossible, no set of reports produces them"):
        load(tmp_path)
    assert cli.run(["query", "--snapshot", str(tmp_path), "frequencies"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("no set of reports produces them: array hist has counts below 0")
