"""What every experiment does before it begins."""

from pathlib import Path

import pytest

from hearsay.ops import cli
from hearsay.ops.errors import CheckFailed, OperationError
from hearsay.ops.experiments.output import Result, publish_all


@pytest.mark.parametrize("experiment", ["context-aware", "metric", "ranges"])
def test_without_matplotlib_it_ends_at_once_with_the_line_how_to_get_it(
    experiment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hearsay.ops.experiments.output.find_spec", lambda name: None)
    assert cli.run(["experiment", experiment, "--out", str(tmp_path / "out")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "hearsay: the figures need matplotlib: pip install 'hearsay-ldp[experiments]'"
    assert not (tmp_path / "out").exists()


def results(rows: int, holds: bool = True) -> list[Result]:
    first, second = (
        Result("first", "t", ["n"], [[number] for number in range(rows)]),
        Result("second", "t", ["n"], [[1]]),
    )
    second.expect(holds, "1 is not 2")
    return [first, second]


def test_an_experiment_ends_with_its_files_and_a_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish_all(results(3), tmp_path)
    assert capsys.readouterr().out.splitlines()[-2:] == [
        f"tables and figures are in {tmp_path}/",
        "agreed: first, second",
    ]
    with pytest.raises(CheckFailed, match="1 is not 2"):
        publish_all(results(3, holds=False), tmp_path)
    assert capsys.readouterr().out.splitlines()[-1] == "agreed: first; did not: second: 1 is not 2"


def test_of_a_long_table_the_first_rows_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish_all(results(1_100), tmp_path)
    out = capsys.readouterr().out
    assert len(out.splitlines()) < 80
    assert f"... and 1,040 more rows in {tmp_path}/first.csv" in out
    assert len((tmp_path / "first.csv").read_text().splitlines()) == 1_101


def test_results_do_not_go_into_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OperationError, match="directory of its own"):
        publish_all(results(3), Path())
    assert list(tmp_path.iterdir()) == []
