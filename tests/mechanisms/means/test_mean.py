"""The mean of one number: exact channels, variances, and the solved table."""

import numpy as np
import pytest

from hearsay.mechanisms.errors import SpecificationError, ValueOutsideDomain
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.means import minimax, published
from hearsay.mechanisms.means.domain import Number
from hearsay.mechanisms.means.mean import MeanMechanism

LINE = Number(-1.0, 1.0)
CHANNELS = ("minimax", "duchi", "piecewise", "hybrid")


@pytest.mark.parametrize(("epsilon", "worst"), [(0.5, 16.03), (1.0, 3.997), (2.0, 0.869), (4.0, 0.131)])
def test_the_minimax_channel_has_the_least_worst_variance(epsilon: float, worst: float) -> None:
    found = MeanMechanism.create(epsilon, LINE, {}).table.worst_variance()
    assert found == pytest.approx(worst, rel=0.01)


@pytest.mark.parametrize(("epsilon", "worst"), [(0.5, 16.67), (1.0, 4.289), (2.0, 1.042), (4.0, 0.219)])
def test_hybrid_has_its_published_worst_variance(epsilon: float, worst: float) -> None:
    assert published.hybrid(epsilon).worst_variance() == pytest.approx(worst, rel=0.005)


@pytest.mark.parametrize("epsilon", [0.01, 0.05, 0.1, 0.3, 0.61, 0.8, 1.5, 3.0, 5.0, 7.0, 10.0])
def test_minimax_is_never_above_hybrid(epsilon: float) -> None:
    hybrid = published.hybrid(epsilon).worst_variance()
    # Weights out of 2^32 cost a few parts in ten millions at the smallest epsilons.
    assert minimax.from_half(minimax.solve(epsilon)).worst_variance() <= hybrid * (1 + 1e-6)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("channel", CHANNELS)
def test_the_channel_keeps_epsilon_and_rows_have_exact_means(channel: str, epsilon: float) -> None:
    mechanism = MeanMechanism.create(epsilon, LINE, {"channel": channel})
    rows = mechanism.channel()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)
    used = rows.max(axis=0) > 0
    loss = np.log(rows[:, used].max(axis=0) / rows[:, used].min(axis=0)).max()
    assert loss <= epsilon * (1 + 1e-12)
    assert loss == pytest.approx(mechanism.spent_epsilon, rel=1e-9)
    assert mechanism.spent_epsilon > epsilon * (1 - 1e-4)
    np.testing.assert_allclose(rows @ mechanism.table.values, mechanism.table.numbers, atol=1e-9)
    assert mechanism.table.numbers[0] == -1
    assert mechanism.table.numbers[-1] == 1


@pytest.mark.parametrize(("points", "off"), [(64, 0.008), (256, 0.002)])
def test_piecewise_on_a_lattice_is_close_to_the_continuous_one(points: int, off: float) -> None:
    e = np.exp(0.5)
    exact = 1 / (e - 1) + (e + 3) / (3 * (e - 1) ** 2)
    assert published.piecewise(1.0, points).variance_at(np.array([1.0]))[0] == pytest.approx(exact, rel=off)


@pytest.mark.parametrize("channel", CHANNELS)
def test_means_are_unbiased_and_covered(channel: str) -> None:
    mechanism = MeanMechanism.create(1.5, Number(0.0, 10.0), {"channel": channel})
    numbers = np.clip(np.random.default_rng(1).normal(6.5, 1.5, 1_000), 0, 10)
    random, runs = seeded(2), 800
    many = mechanism.perturb(np.tile(numbers, runs), random)["output"].reshape(runs, -1)
    found = [mechanism.estimate(mechanism.fold(mechanism.empty(), {"output": row})) for row in many]
    z = np.array([(one.value - numbers.mean()) / one.stderr for one in found])
    assert abs(z.mean()) < 4.9 / np.sqrt(runs)
    assert 0.92 < (np.abs(z) < 1.96).mean() < 0.98 + 0.02 * (channel == "duchi")


def test_devices_draw_from_the_channel() -> None:
    for channel in CHANNELS:
        table = MeanMechanism.create(1.0, LINE, {"channel": channel}).table
        for place in (0, len(table.rows) // 2, len(table.rows) - 1):
            drawn = np.bincount(
                table.draw(np.full(40_000, table.numbers[place]), seeded(3)), minlength=len(table.outputs)
            )
            expected = 40_000 * table.chances[place]
            assert (np.abs(drawn - expected) <= 6.5 * np.sqrt(expected) + 3).all()


def test_the_canonical_options_carry_the_solved_channel_and_need_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    solved = MeanMechanism.create(1.0, LINE, {})
    options = solved.canonical_options()
    monkeypatch.setattr(minimax, "solve", lambda epsilon: pytest.fail("a device must not solve"))
    again = MeanMechanism.create(1.0, LINE, options)
    assert again.table == solved.table
    assert again.canonical_options() == options


def test_a_table_that_breaks_the_promise_is_refused() -> None:
    options = MeanMechanism.create(1.0, LINE, {}).canonical_options()
    with pytest.raises(SpecificationError, match=r"within a factor of e\^epsilon"):
        MeanMechanism.create(0.9, LINE, options)
    for wrong in ([[1, 2]], "x", [[0.5] * 33] * 9):
        with pytest.raises(SpecificationError, match="9 rows of 33 integers"):
            MeanMechanism.create(1.0, LINE, {"table": wrong})


def test_numbers_outside_are_refused_and_never_shown() -> None:
    for wrong in ([777.0], [float("nan")]):
        with pytest.raises(ValueOutsideDomain) as caught:
            MeanMechanism.create(1.0, LINE, {"channel": "duchi"}).perturb(np.array(wrong), seeded(1))
        assert "777" not in str(caught.value)


@pytest.mark.parametrize("devices", [2, 4])
def test_a_handful_of_reports_hold(devices: int) -> None:
    """An error that is no normal one, estimated from two reports: 86% held."""
    mechanism, random, runs = MeanMechanism.create(6.0, LINE, {"channel": "hybrid"}), seeded(8), 600
    held = 0
    for _ in range(runs):
        found = mechanism.estimate(
            mechanism.fold(mechanism.empty(), mechanism.perturb(np.zeros(devices), random))
        ).mean()
        low, high = found.ends()
        held += int(low[0] <= 0 <= high[0])
    assert held > 0.93 * runs
