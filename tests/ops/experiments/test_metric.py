"""`hearsay experiment metric`: files, agreement with the paper's numbers, and what happens when they disagree."""

import csv
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure

from hearsay.mechanisms import build
from hearsay.mechanisms.estimates.estimate import Measured
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.metric.collector_modes import KeptReports
from hearsay.mechanisms.metric.l1 import MetricL1Signs
from hearsay.mechanisms.metric.sign_estimate import SignEstimate
from hearsay.ops.cli import cli
from hearsay.ops.experiments.metric import figures
from hearsay.ops.experiments.metric.command import command
from hearsay.ops.experiments.metric.figures import figure_2, largest_variance
from hearsay.ops.experiments.metric.tables import table_1
from hearsay.ops.experiments.output import Result


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


@pytest.mark.parametrize("anchored", [True, False])
def test_no_range_is_less_certain_than_one_with_every_device_between_its_ends(anchored: bool) -> None:
    domain = {"kind": "grid", "sizes": [5, 5, 5]}
    table = {"mechanism": "metric-l1", "epsilon": 1.2, "domain": domain, "options": {"anchored": anchored}}
    mechanism = build(table)
    assert isinstance(mechanism, MetricL1Signs)
    generator = np.random.default_rng(1)
    ends = np.sort(generator.integers(0, 5, (400, 2, 3)), axis=1)
    ends[0] = [[1, 1, 1], [3, 3, 3]]
    limits = largest_variance(mechanism.correlations[0], 3, ((ends[:, 0] > 0) | (ends[:, 1] < 4)).sum(axis=1))
    for cells in (np.full((50, 3), 2), generator.integers(0, 5, (50, 3))):
        signs = mechanism.signs.observe(mechanism.signs.pack(cells)) / 50
        variance = (
            50
            * SignEstimate.of(mechanism.domain, 50, signs, mechanism.noise).ranges(*ends.transpose(1, 0, 2)).stderr ** 2
        )
        assert (variance <= limits * (1 + 1e-9)).all()
        assert (variance[0] == pytest.approx(limits[0])) == (cells == 2).all()


def test_figure_2_notices_ranges_that_are_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "EPSILONS_2", (1.0,))
    result = figure_2(4, True, seeded(2))
    assert result.failures == []
    picture = Figure()
    assert result.draw is not None
    result.draw(picture)
    assert len(picture.axes[0].containers) == 4, "cells and ranges of both forms have error bars"

    class Noisier(KeptReports):
        def ranges(self, low: np.ndarray, high: np.ndarray) -> Measured:
            value, stderr, *_ = super().ranges(low, high)
            return Measured.plain(value + 0.5 * stderr, stderr)  # a quarter more squared error

    monkeypatch.setattr(figures, "KeptReports", Noisier)
    failures = figure_2(4, True, seeded(2)).failures
    assert [failure.split(": ranges")[0] for failure in failures] == [
        "figure-2-4d: epsilon 1.0 anchored",
        "figure-2-4d: epsilon 1.0 literal",
    ]


def test_figure_1_shows_the_noise_of_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "EXPECTED_1", {1: figures.EXPECTED_1[1]})
    result = figures.figure_1(True, seeded(2))
    row = dict(zip(result.columns, result.rows[0], strict=True))
    assert 0 < row["standard error"] < 0.1 * row["measured lattice"]
    picture = Figure()
    assert result.draw is not None
    result.draw(picture)
    assert len(picture.axes[0].containers) == 1
    assert result.bars == "one standard error"


@pytest.mark.slow
def test_the_whole_experiment_agrees_with_the_paper(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(
        command, ["--quick", "--out", str(tmp_path)], catch_exceptions=False, **cli.context_settings
    )
    assert outcome.exit_code == 0
    names = {"figure-1", "figure-2-5d", "figure-2-6d", "table-1", "table-2", "large-grid"}
    assert {path.stem for path in tmp_path.glob("*.csv")} == names
    assert {path.stem for path in tmp_path.glob("*.png")} == {"figure-1", "figure-2-5d", "figure-2-6d"}
    with (tmp_path / "table-2.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for task in ("range, 1 axis", "quantile", "range, 2 axes", "range, 3 axes"):
        names = {row["mechanism"] for row in rows if row["task"] == task}
        assert names == {"metric-l1", "hierarchical", "haar", *(("olh",) if "axes" in task else ())}
