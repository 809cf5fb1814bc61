"""`hearsay experiment metric`: files, agreement with the paper's numbers, and what happens when they disagree."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from mechanisms.randomness import seeded
from ops.experiments.metric import command
from ops.experiments.metric_output import Result
from ops.experiments.metric_tables import table_1


def test_a_part_leaves_a_table_and_a_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = Result("part", "A part", ["x", "y"], [[1, 2.5], [2, None]])
    result.draw = lambda figure: figure.subplots().plot([1, 2], [3, 4])
    result.expect(True, "fine")
    result.expect(False, "off")
    result.publish(tmp_path)
    assert (tmp_path / "part.csv").read_text().splitlines() == ["x,y", "1,2.5", "2,"]
    assert (tmp_path / "part.png").stat().st_size > 1000
    assert "A part" in capsys.readouterr().out
    assert result.failures == ["part: off"]


def test_collector_modes_agree() -> None:
    result = table_1(seeded(1))
    assert [row[0] for row in result.rows] == ["prefix sums", "single frequencies", "on the fly"]
    assert result.failures == []


@pytest.mark.slow
def test_the_whole_experiment_agrees_with_the_paper(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(command, ["--quick", "--out", str(tmp_path)], catch_exceptions=False)
    assert outcome.exit_code == 0
    names = {"figure-1", "figure-2-5d", "figure-2-6d", "table-1", "table-2", "large-grid"}
    assert {path.stem for path in tmp_path.glob("*.csv")} == names
    assert {path.stem for path in tmp_path.glob("*.png")} == {"figure-1", "figure-2-5d", "figure-2-6d"}
