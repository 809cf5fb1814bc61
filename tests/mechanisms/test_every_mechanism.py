"""The laws that every registered mechanism obeys, checked on each of its examples."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from hearsay.mechanisms import Mechanism, merge
from hearsay.mechanisms.errors import ValueOutsideDomain
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.layout import length_of, select
from tests.mechanisms.shared import CASES, Case, skewed_cells, true_shares

ONE_IN_A_MILLION = stats.norm.isf(0.5e-6)


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def mechanism(request: pytest.FixtureRequest) -> Mechanism:
    case: Case = request.param
    return case.build()


def all_cells(mechanism: Mechanism) -> np.ndarray:
    cells = np.stack(np.unravel_index(np.arange(mechanism.domain.size), mechanism.domain.shape), axis=1)
    return cells[:, 0] if cells.shape[1] == 1 else cells


def test_channel_keeps_the_guarantee_for_every_pair_and_every_report(mechanism: Mechanism) -> None:
    channel = mechanism.channel()
    np.testing.assert_allclose(channel.sum(axis=1), 1.0, atol=1e-12)
    assert (channel >= 0).all()
    bound = mechanism.guarantee.matrix(mechanism.domain)
    for one in range(len(channel)):
        for other in range(len(channel)):
            if np.isinf(bound[one, other]):
                continue  # nothing is promised for this pair
            allowed = channel[other] * np.exp(bound[one, other])
            assert (channel[one] <= allowed * (1 + 1e-9) + 1e-300).all(), (one, other)


def test_spent_epsilon_is_not_above_the_claim(mechanism: Mechanism) -> None:
    assert 0 < mechanism.spent_epsilon <= mechanism.epsilon
    assert mechanism.spent_epsilon >= mechanism.epsilon * (1 - 1e-6)


def test_device_draws_from_the_channel(mechanism: Mechanism) -> None:
    channel, outcomes = mechanism.channel(), mechanism.layout.enumerate()
    draws = 40_000
    for cell, row in list(zip(all_cells(mechanism), channel, strict=True))[:: max(1, len(channel) // 4)]:
        reports = mechanism.perturb(np.repeat(cell[None], draws, axis=0), seeded(int(np.sum(cell)) + 7))
        counts = np.bincount(outcome_numbers(reports, outcomes), minlength=len(row))
        assert (counts[row == 0] == 0).all()
        # Pool rare reports so that the chi-squared approximation holds.
        order = np.argsort(row)
        group = np.minimum(np.cumsum(row[order]) * draws // 50, draws // 50)
        seen = np.bincount(group.astype(int), weights=counts[order])
        expected = np.bincount(group.astype(int), weights=row[order] * draws)
        kept = expected > 0
        statistic = ((seen[kept] - expected[kept]) ** 2 / expected[kept]).sum()
        assert stats.chi2.sf(statistic, max(kept.sum() - 1, 1)) > 1e-6


def outcome_numbers(reports: dict, outcomes: dict) -> np.ndarray:
    def keys(columns: dict) -> list[bytes]:
        count = length_of(columns)
        matrix = [columns[name].reshape(count, -1).astype(np.int64) for name in sorted(outcomes)]
        return [row.tobytes() for row in np.concatenate(matrix, axis=1)]

    number = {key: index for index, key in enumerate(keys(outcomes))}
    return np.array([number[key] for key in keys(reports)])


def test_folding_parts_equals_folding_all_exactly(mechanism: Mechanism) -> None:
    cells = skewed_cells(mechanism, 3_000)
    reports = mechanism.perturb(cells, seeded(3))
    whole = mechanism.fold(mechanism.empty(), reports)
    order = np.random.default_rng(4).permutation(3_000)
    parts = mechanism.empty()
    for part in np.array_split(order, 7):
        merge(parts, mechanism.fold(mechanism.empty(), select(reports, part)))
    assert whole.keys() == parts.keys() == mechanism.arrays.keys()
    for name in whole:
        assert whole[name].dtype == np.int64
        assert whole[name].shape == mechanism.arrays[name]
        np.testing.assert_array_equal(whole[name], parts[name])
    assert mechanism.reports(whole) == 3_000


class Runs:
    """Errors and standard errors of the same devices, perturbed, folded and estimated again and again."""

    def __init__(self, mechanism: Mechanism, n: int, seed: int) -> None:
        self._mechanism, self._n, self._random = mechanism, n, seeded(seed)
        self._cells = skewed_cells(mechanism, n)
        self._truth = true_shares(mechanism, self._cells)
        self._errors: list[np.ndarray] = []
        self._stderrs: list[np.ndarray] = []

    def until(self, runs: int) -> "Runs":
        while len(self._errors) < runs:
            count = min(max(1, 200_000 // self._n), runs - len(self._errors))
            many = self._mechanism.perturb(np.concatenate([self._cells] * count), self._random)
            for run in range(count):
                part = select(many, slice(run * self._n, (run + 1) * self._n))
                result = self._mechanism.estimate(self._mechanism.fold(self._mechanism.empty(), part))
                self._errors.append((result.estimate - self._truth).reshape(-1))
                self._stderrs.append(result.stderr.reshape(-1))
        return self

    @property
    def independent(self) -> float:
        """As how many independent cells the errors of one run count when their variance is measured."""
        covariance = np.cov(np.array(self._errors).T)
        return float(np.trace(covariance) ** 2 / (covariance**2).sum())

    def check(self, ratio: float, coverage: float) -> None:
        errors, stderrs = np.array(self._errors), np.array(self._stderrs)
        spread = np.sqrt((errors**2).sum(axis=0)) / len(errors)
        assert (np.abs(errors.mean(axis=0)) <= 1.1 * ONE_IN_A_MILLION * spread + 1e-12).all()
        assert abs((errors**2).mean() / (stderrs**2).mean() - 1) < ratio
        assert abs((np.abs(errors) <= 1.96 * stderrs + 1e-12).mean() - 0.95) < coverage


def without_floor(mechanism: Mechanism) -> Mechanism:
    """Comparators with an error that stays are tested over many choices of their hashes, in files of their own."""
    if mechanism.ERROR_FLOOR:
        pytest.skip(mechanism.ERROR_FLOOR)
    return mechanism


def test_estimate_is_unbiased_with_the_stated_variance(mechanism: Mechanism) -> None:
    Runs(without_floor(mechanism), n=2_000, seed=11).until(400).check(ratio=0.15, coverage=0.02)


@pytest.mark.slow
def test_variance_is_within_five_per_cent_and_coverage_within_one(mechanism: Mechanism) -> None:
    """As many runs as make 20,000 independent errors: then 5% of a variance are five standard deviations."""
    runs = Runs(without_floor(mechanism), n=4_000, seed=12).until(1_000)
    runs.until(max(2_000, int(20_000 / runs.independent))).check(ratio=0.05, coverage=0.01)


def test_values_outside_the_domain_are_refused_and_never_shown(mechanism: Mechanism) -> None:
    wrong = np.array(mechanism.domain.shape) + 777_000
    value = wrong[:1] if len(wrong) == 1 else wrong[None, :]
    with pytest.raises(ValueOutsideDomain) as caught:
        mechanism.perturb(value, seeded(1))
    assert "777" not in str(caught.value)


def test_canonical_options_build_the_same_mechanism(mechanism: Mechanism) -> None:
    again = type(mechanism).create(mechanism.epsilon, mechanism.domain, mechanism.canonical_options())
    assert again.canonical_options() == mechanism.canonical_options()
    assert again.layout == mechanism.layout
    assert again.arrays == mechanism.arrays


# What other files hold mechanisms to on domains of their own.
ON_ANY_DOMAIN: list[Callable[[Mechanism], None]] = [
    test_channel_keeps_the_guarantee_for_every_pair_and_every_report,
    test_spent_epsilon_is_not_above_the_claim,
    test_device_draws_from_the_channel,
    test_folding_parts_equals_folding_all_exactly,
    test_values_outside_the_domain_are_refused_and_never_shown,
]


def name_of(law: Callable[[Mechanism], None]) -> str:
    """How a law is called in the name of a test."""
    return law.__name__.removeprefix("test_")
