"""`hearsay experiment counts`: its parts measure what they say, and say so where it is wrong."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops import cli
from hearsay.ops.experiments.counts.contenders import STRONG, Contender, comparators, design, for_l0
from hearsay.ops.experiments.counts.errors import check_values, figure_13
from hearsay.ops.experiments.counts.groups import RMSE, binomial, binomial_groups, measure, power_beyond
from hearsay.ops.experiments.counts.matrices import figure_1, figure_6
from hearsay.ops.experiments.counts.scores import objectives


def test_the_check_values_hold_and_are_measured() -> None:
    result = check_values(seeded(1))
    assert result.failures == []
    names = {row[0] for row in result.rows}
    assert {"gm", "em", "um", "wm", "exponential", "rounded laplace"} <= names


@pytest.mark.parametrize("part", [figure_1, figure_6, objectives])
def test_matrices_and_scores_are_as_expected(part) -> None:
    result = part()
    assert result.failures == []
    assert result.rows


def test_histograms_of_errors() -> None:
    result = figure_13(True, seeded(2))
    assert result.failures == []
    assert all(sum(row[3:]) == pytest.approx(1, abs=1e-2) for row in result.rows)
    picture = Figure()
    assert result.draw is not None
    result.draw(picture)
    assert [len(axes.containers) for axes in picture.axes] == [3] * 4
    assert all(lines.has_yerr for axes in picture.axes for lines in axes.containers)
    assert result.bars == "one standard error"


def test_a_wrong_matrix_is_noticed() -> None:
    """Counts released by gm but judged as em: far outside what chance explains."""
    generator = np.random.default_rng(3)
    groups = [binomial_groups(8, 0.5, generator) for _ in range(5)]

    class Swapped(Contender):
        @property
        def shares(self) -> np.ndarray:
            return for_l0(8, STRONG)[2].shares

    swapped = Swapped("gm", design("gm", 8, STRONG))
    for found in measure(swapped, [power_beyond(0, 0), RMSE], groups, binomial(8, 0.5), seeded(4)):
        assert found.off > 6


def test_comparators_are_private_to_the_integer() -> None:
    for contender in comparators(8, STRONG):
        assert (contender.whole.sum(axis=0) == 1 << 64).all()


@pytest.mark.slow
def test_the_whole_experiment(tmp_path: Path) -> None:
    assert cli.run(["experiment", "counts", "--quick", "--out", str(tmp_path)]) == 0
    pictures = {path.stem for path in tmp_path.glob("*.png")}
    assert pictures == {f"figure-6-{number}" for number in (1, *range(6, 18))}
