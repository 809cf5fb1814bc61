"""Weighted ranges: guarantees from the exact channel, unbiased, variances, refusals."""

import numpy as np
import pytest

from hearsay.mechanisms import build, merge
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.layout import select
from hearsay.mechanisms.metric.bounds import weighted_range_bound
from hearsay.mechanisms.metric.weighted import PrivateWeights, PublicWeights

AMOUNT = {"name": "amount", "low": 10, "high": 50, "bins": 8}


def survey(weights: str, axes: list[dict], epsilon: float = 1.2):
    domain = {"kind": "grid", "axes": axes}
    return build({"mechanism": "metric-l1", "epsilon": epsilon, "domain": domain, "options": {"weights": weights}})


@pytest.mark.parametrize("weights", ["public", "private"])
@pytest.mark.parametrize("axes", [[{"size": 3}, {"size": 4}], [{"size": 2}, {"low": 0, "high": 3, "bins": 2}, AMOUNT]])
def test_the_channel_keeps_the_guarantee(weights: str, axes: list[dict]) -> None:
    mechanism = survey(weights, axes)
    channel = mechanism.channel()
    np.testing.assert_allclose(channel.sum(axis=1), 1.0, atol=1e-12)
    assert channel.shape == (mechanism.domain.size, mechanism.layout.outcomes)
    bound = mechanism.guarantee.matrix(mechanism.domain)
    assert bound.shape == (mechanism.domain.size,) * 2
    assert (np.diagonal(bound) == 0).all()
    for one in range(len(channel)):
        for other in range(len(channel)):
            if np.isfinite(bound[one, other]):
                assert (channel[one] <= channel[other] * np.exp(bound[one, other]) * (1 + 1e-9)).all()
    assert 0 < mechanism.spent_epsilon <= mechanism.epsilon


@pytest.mark.parametrize("weights", ["public", "private"])
def test_devices_draw_from_the_channel(weights: str) -> None:
    mechanism = survey(weights, [{"size": 3}, {"size": 4}])
    outcomes = mechanism.layout.enumerate()
    draws = 100_000
    for cell in ([0, 0], [1, 2], [2, 3]):
        reports = mechanism.perturb(np.tile([cell], (draws, 1)), seeded(sum(cell)))
        columns = [reports[name].reshape(draws, -1)[:, 0].astype(int) for name in outcomes]
        expected = mechanism.channel()[cell[0] * 4 + cell[1]]
        for outcome, chance in enumerate(expected):
            hits = np.ones(draws, dtype=bool)
            for column, name in zip(columns, outcomes, strict=True):
                hits &= column == int(outcomes[name].reshape(len(expected), -1)[outcome, 0])
            assert abs(hits.mean() - chance) < 6 * np.sqrt(chance * (1 - chance) / draws) + 1e-12


def test_a_private_weight_leaves_the_device_as_one_noisy_bit_only() -> None:
    mechanism = survey("private", [{"size": 3}, AMOUNT])
    assert isinstance(mechanism, PrivateWeights)
    assert mechanism.layout.single.scalars == ()
    assert mechanism.layout.single.vector.length == 2 + 1
    assert isinstance(survey("public", [{"size": 3}, AMOUNT]), PublicWeights)


@pytest.mark.parametrize("weights", ["public", "private"])
def test_states_merge_exactly(weights: str) -> None:
    mechanism = survey(weights, [{"size": 5}, {"size": 3}, AMOUNT])
    cells = np.random.default_rng(1).integers(0, (5, 3, 8), (2_000, 3))
    reports = mechanism.perturb(cells, seeded(2))
    whole, parts = mechanism.fold(mechanism.empty(), reports), mechanism.empty()
    for part in np.array_split(np.arange(2_000), 5):
        merge(parts, mechanism.fold(mechanism.empty(), select(reports, part)))
    np.testing.assert_array_equal(whole["observation"], parts["observation"])
    assert mechanism.reports(whole) == 2_000


def check_statistics(weights: str, weight_axis: dict, runs: int, band: float) -> None:
    """Four ranges on two axes, against second moments taken device by device."""
    mechanism = survey(weights, [{"size": 6}, {"size": 4}, weight_axis], epsilon=1.5)
    generator, n = np.random.default_rng(7), 300
    steps = weight_axis.get("size") or weight_axis["bins"]
    cells = np.stack([generator.integers(0, size, n) for size in (6, 4, steps)], axis=1)
    low, high = np.array([[1, 1], [0, 0], [2, 0], [0, 0]]), np.array([[3, 2], [2, 3], [5, 1], [5, 3]])
    least, largest = mechanism.ends
    held = cells[:, 2].astype(float) if "size" in weight_axis else 10 + (cells[:, 2] + 0.5) * 5
    truth, exact = [], []
    for a, b in zip(low, high, strict=True):
        inside = ((cells[:, :2] >= a) & (cells[:, :2] <= b)).all(axis=1)
        moments = np.ones(n)
        for axis, size in enumerate((6, 4)):
            v = mechanism.noise[axis].pick(a[axis : axis + 1], b[axis : axis + 1], size - 1)[0]
            moments *= v + ((cells[:, axis] >= a[axis]) & (cells[:, axis] <= b[axis]))
        share = (held - least) / (largest - least)
        span = largest - least
        rounded = least**2 + (2 * least * span + span**2) * share + span**2 * mechanism.noise[-1].edge
        second = held**2 if weights == "public" else rounded
        truth.append((held * inside).mean())
        exact.append((second * moments - (held * inside) ** 2).mean() / n)
    random = seeded(3)
    found = []
    for _ in range(runs // 200):
        many = mechanism.perturb(np.concatenate([cells] * 200), random)
        for run in range(200):
            part = select(many, slice(run * n, run * n + n))
            found.append(mechanism.estimate(mechanism.fold(mechanism.empty(), part)).weighted(low, high))
    values, stderrs = np.array([each.value for each in found]), np.array([each.stderr for each in found])
    for query in range(len(low)):
        if exact[query] == 0:
            np.testing.assert_allclose(values[:, query], truth[query], rtol=1e-9)
            continue
        assert abs(values[:, query].mean() - truth[query]) < 5 * np.sqrt(exact[query] / runs)
        assert ((values[:, query] - truth[query]) ** 2).mean() / exact[query] == pytest.approx(1, abs=band)
        claimed = (stderrs[:, query] ** 2).mean() / exact[query]
        # Of private weights a lower limit is subtracted of what nobody sees.
        assert 0.97 < claimed < (1.03 if weights == "public" else 1.4)
        covered = (np.abs(values[:, query] - truth[query]) <= 1.96 * stderrs[:, query]).mean()
        assert 0.92 < covered < (0.975 if weights == "public" else 0.99)


@pytest.mark.parametrize("weights", ["public", "private"])
@pytest.mark.parametrize("weight_axis", [{"size": 6}, AMOUNT], ids=["integers", "bins"])
def test_weighted_ranges_are_unbiased_with_the_stated_variance(weights: str, weight_axis: dict) -> None:
    check_statistics(weights, weight_axis, runs=1_000, band=0.22)


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["public", "private"])
def test_weighted_variance_within_five_percent(weights: str) -> None:
    check_statistics(weights, AMOUNT, runs=24_000, band=0.05)


def test_variances_stay_below_theorem_4_where_all_axes_are_cut() -> None:
    c = np.tanh(0.75)
    for weights in ("public", "private"):
        mechanism = survey(weights, [{"size": 8}, {"size": 5}], epsilon=1.5)
        cells = np.random.default_rng(1).integers(0, (8, 5), (50_000, 2))
        state = mechanism.fold(mechanism.empty(), mechanism.perturb(cells, seeded(1)))
        stderr = mechanism.estimate(state).weighted(np.array([[2]]), np.array([[5]])).stderr[0]
        assert stderr**2 * 50_000 < weighted_range_bound(c, 1, 1, 4.0, private=weights == "private")


def test_plain_ranges_are_answered_on_the_other_axes() -> None:
    for weights in ("public", "private"):
        mechanism = survey(weights, [{"size": 8}, AMOUNT])
        cells = np.random.default_rng(1).integers(0, 8, (100_000, 2))
        estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(cells, seeded(4))))
        assert estimate.domain.shape == (8,)
        truth = np.bincount(cells[:, 0], minlength=8).cumsum() / 100_000
        value, stderr, *_ = estimate.cdf()
        assert (np.abs(value - truth) <= 6 * stderr + 1e-12).all()


@pytest.mark.parametrize(
    ("axes", "options", "message"),
    [
        ([{"size": 3}], {"weights": "private"}, "at least one other axis"),
        ([{"size": 3}, {"categories": ["a", "b"]}], {"weights": "public"}, "axis of numbers"),
        ([{"size": 3}, {"size": 3}], {"weights": "private", "anchored": False}, "anchored = true"),
        ([{"size": 3}, {"size": 3}], {"weights": "secret"}, "options.weights"),
        ([{"size": 3}, {"size": 3}], {"weights": ["public"]}, "options.weights"),
        ([{"size": 3000}, {"size": 10_000}], {"weights": "public"}, "MiB"),
    ],
)
def test_what_cannot_work_is_refused_in_one_line(axes: list, options: dict, message: str) -> None:
    with pytest.raises(SpecificationError, match=message) as caught:
        build({"mechanism": "metric-l1", "epsilon": 1.0, "domain": {"kind": "grid", "axes": axes}, "options": options})
    assert "\n" not in str(caught.value)


def test_a_weight_outside_its_range_is_refused_and_not_shown() -> None:
    mechanism = survey("private", [{"size": 3}, AMOUNT])
    with pytest.raises(ValueError, match=r"amount must be a number in 10\.\.50") as caught:
        mechanism.domain.read({"axis1": [1], "amount": [777.5]})
    assert "777" not in str(caught.value)
