"""The laws of a mechanism.

    channel        P(report | one value) <= e^bound P(report | another value), for every pair and every report
    budget         the coins that are flipped spend what is claimed, and not more
    device         `perturb` draws from the channel, in every round
    randomness     `perturb` draws from the random source that it is given, and from no other
    merge          folding parts and adding them is folding all, number by number
    unbiased       errors average to 0, their variance is the stated one, 95% of the intervals cover
    outside        a value outside the domain is refused, and the message does not show it; so is what is no value
    options        the canonical options build the same mechanism again

Each law is a function of a mechanism that raises BrokenLaw. Statistical laws have fixed seeds, and bounds that a
correct program misses less than once in a million runs. Where values are no cells, `listed_values` says what the rows
of the channel stand for, and the laws of the queries (`checks.queries`) show what an estimate is worth.
"""

from collections.abc import Callable
from math import exp, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import Mechanism, merge
from hearsay.mechanisms.checks.law import expect
from hearsay.mechanisms.checks.people import folded, in_every_round, skewed_people, true_shares
from hearsay.mechanisms.domains.axis import AxesDomain
from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.errors import ValueOutsideDomain
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.guarantees.promises import PureLDP
from hearsay.mechanisms.layout import Reports, length_of, select

Law = Callable[[Mechanism], None]
ONE_IN_A_MILLION = 4.8916  # standard errors that a normal error exceeds once in a million
_DRAWS, _VALUES, _REPORTS, _PARTS = 40_000, 4, 3_000, 7
_MARKED = 777_000_777  # a number that no domain of an example has
_LEAST_EXPECTED = 50  # expected reports, about, of a pool of rare outcomes in the chi-squared test


def channel_keeps_the_guarantee(mechanism: Mechanism) -> None:
    """No report is more than e^bound times likelier under one value than under another."""
    for asked in in_every_round(mechanism):
        _channel_keeps_the_guarantee(asked)


def _channel_keeps_the_guarantee(mechanism: Mechanism) -> None:
    channel = mechanism.channel()
    expect(np.allclose(channel.sum(axis=1), 1.0, rtol=0, atol=1e-12), "channel: every row must sum to 1")
    expect((channel >= 0).all(), "channel: no probability may be negative")
    for one, other, bound in _bounds(mechanism, len(channel)):
        allowed = channel[other] * exp(bound) * (1 + 1e-9) + 1e-300
        worst = int(np.argmax(channel[one] - allowed))
        expect(
            channel[one, worst] <= allowed[worst],
            f"channel: report {worst} has probability {channel[one, worst]:.6g} under value {one}, at most "
            f"{allowed[worst]:.6g} is promised from value {other}",
        )


def _bounds(mechanism: Mechanism, values: int) -> list[tuple[int, int, float]]:
    """Every pair of rows of the channel with its finite bound on the logarithm of the ratio."""
    guarantee = mechanism.guarantee
    if isinstance(guarantee, PureLDP):
        bound = np.full((values, values), guarantee.epsilon)
    elif isinstance(mechanism.domain, Cells):
        bound = guarantee.matrix(mechanism.domain)
    else:
        return []
    return [(x, y, float(bound[x, y])) for x in range(values) for y in range(values) if x != y and bound[x, y] < inf]


def budget_is_spent_and_not_exceeded(mechanism: Mechanism) -> None:
    """Rounding the thresholds never makes privacy worse than claimed, and wastes at most a millionth of epsilon."""
    spent, claimed = mechanism.spent_epsilon, mechanism.epsilon
    expect(0 < spent <= claimed, f"budget: at most {claimed:g} may be spent, got {spent!r}")
    wasted = spent < claimed * (1 - 1e-6) and not mechanism.UNSPENT
    expect(not wasted, f"budget: {claimed:g} should be spent, got only {spent!r}; UNSPENT must say why")


def device_draws_from_the_channel(mechanism: Mechanism) -> None:
    """Pearson's chi-squared of many draws from some values, rare reports pooled."""
    for asked in in_every_round(mechanism):
        _device_draws_from_the_channel(asked)


def _device_draws_from_the_channel(mechanism: Mechanism) -> None:
    from scipy import stats

    domain = mechanism.domain
    values: Any = _all_cells(domain) if isinstance(domain, AxesDomain) else mechanism.listed_values()
    expect(values is not None, "device: listed_values must list the values that the channel's rows stand for")
    channel, outcomes = mechanism.channel(), mechanism.layout.enumerate()
    for value in range(0, len(channel), max(1, len(channel) // _VALUES)):
        row = channel[value]
        reports = mechanism.perturb(values[np.full(_DRAWS, value)], seeded(value + 7))
        counts = np.bincount(outcome_numbers(reports, outcomes), minlength=len(row))
        expect((counts[row == 0] == 0).all(), f"device: value {value} gives reports that its channel excludes")
        order = np.argsort(row)
        pools = np.minimum(np.cumsum(row[order]) * _DRAWS // _LEAST_EXPECTED, _DRAWS // _LEAST_EXPECTED).astype(int)
        seen = np.bincount(pools, weights=counts[order])
        expected = np.bincount(pools, weights=row[order] * _DRAWS)
        pooled = expected > 0
        statistic = float(((seen[pooled] - expected[pooled]) ** 2 / expected[pooled]).sum())
        chance = float(stats.chi2.sf(statistic, max(int(pooled.sum()) - 1, 1)))
        expect(chance > 1e-6, f"device: reports of value {value} do not follow the channel (p = {chance:.1g})")


def device_uses_the_given_randomness(mechanism: Mechanism) -> None:
    """A device hands in the operating system's secure source: a mechanism with a source of its own would be guessed."""
    values = skewed_people(mechanism, _REPORTS)
    first, again, other = (mechanism.perturb(values, seeded(seed)) for seed in (5, 5, 6))
    expect(_alike(first, again), "randomness: the same random numbers must give the same reports")
    expect(not _alike(first, other), "randomness: other random numbers must give other reports")


def _alike(some: Reports, others: Reports) -> bool:
    return some.keys() == others.keys() and all(np.array_equal(some[name], others[name]) for name in some)


def _all_cells(domain: AxesDomain) -> NDArray[np.int64]:
    cells = np.stack(np.unravel_index(np.arange(domain.size), domain.shape), axis=1)
    return cells[:, 0] if cells.shape[1] == 1 else cells


def outcome_numbers(reports: Reports, outcomes: Reports) -> NDArray[np.int64]:
    """For every report its index among the enumerated outcomes."""

    def keys(columns: Reports) -> list[bytes]:
        count = length_of(columns)
        matrix = [columns[name].reshape(count, -1).astype(np.int64) for name in sorted(outcomes)]
        return [row.tobytes() for row in np.concatenate(matrix, axis=1)]

    number = {key: index for index, key in enumerate(keys(outcomes))}
    return np.array([number[key] for key in keys(reports)])


def folding_parts_is_folding_all(mechanism: Mechanism) -> None:
    """States are int64 arrays of the declared shapes that add, whatever the order of the reports."""
    reports = mechanism.perturb(skewed_people(mechanism, _REPORTS), seeded(3))
    whole, added = folded(mechanism, reports), mechanism.empty()
    for part in np.array_split(np.random.default_rng(4).permutation(_REPORTS), _PARTS):
        merge(added, folded(mechanism, select(reports, part)))
    expect(whole.keys() == added.keys() == mechanism.arrays.keys(), "merge: the state must have the declared arrays")
    for name, array in whole.items():
        expect(array.dtype == np.int64, f"merge: {name} must be int64, got {array.dtype}")
        shape = mechanism.arrays[name]
        expect(array.shape == shape, f"merge: {name} must have shape {shape}, got {array.shape}")
        expect((array == added[name]).all(), f"merge: {name} differs between folding all and adding parts")
    count = mechanism.reports(whole)
    expect(count == _REPORTS, f"merge: the state must hold {_REPORTS} reports, got {count}")


class Runs:
    """Errors and standard errors of the same devices, perturbed, folded and estimated again and again."""

    def __init__(self, mechanism: Mechanism, devices: int, seed: int) -> None:
        self._mechanism, self._devices, self._random = mechanism, devices, seeded(seed)
        self._values = skewed_people(mechanism, devices)
        self._truth = true_shares(mechanism, self._values)
        self._errors: list[NDArray[np.float64]] = []
        self._stderrs: list[NDArray[np.float64]] = []

    def until(self, runs: int) -> "Runs":
        """Add runs until there are `runs`."""
        while len(self._errors) < runs:
            count = min(max(1, 200_000 // self._devices), runs - len(self._errors))
            many = self._mechanism.perturb(np.concatenate([self._values] * count), self._random)
            for run in range(count):
                part = select(many, slice(run * self._devices, (run + 1) * self._devices))
                estimate = self._mechanism.estimate(folded(self._mechanism, part))
                if not isinstance(estimate, CellEstimate):
                    raise TypeError("runs need an estimate of cells")
                self._errors.append((estimate.estimate - self._truth).reshape(-1))
                self._stderrs.append(estimate.stderr.reshape(-1))
        return self

    @property
    def independent(self) -> float:
        """The effective number of independent cells in one run: trace(Cov)^2 over the sum of squares of Cov."""
        covariance = np.cov(np.array(self._errors).T)
        return float(np.trace(covariance) ** 2 / (covariance**2).sum())

    def check(self, ratio: float, coverage: float) -> None:
        """Unbiased; the variance is the stated one within `ratio`; 95% are covered within `coverage`."""
        errors, stderrs = np.array(self._errors), np.array(self._stderrs)
        error_of_mean = np.sqrt((errors**2).sum(axis=0)) / len(errors)
        excess = np.abs(errors.mean(axis=0)) - (1.1 * ONE_IN_A_MILLION * error_of_mean + 1e-12)
        expect((excess <= 0).all(), f"unbiased: the errors of cell {int(np.argmax(excess))} do not average to 0")
        measured = float((errors**2).mean() / (stderrs**2).mean())
        expect(abs(measured - 1) < ratio, f"unbiased: the variance is {measured:.3g} times the stated one")
        covered = float((np.abs(errors) <= 1.96 * stderrs + 1e-12).mean())
        expect(abs(covered - 0.95) < coverage, f"unbiased: {covered:.1%} of the 95% intervals cover")


def estimate_is_unbiased_with_the_stated_variance(mechanism: Mechanism) -> None:
    """Of shares of cells, unless the mechanism states an error that stays (ERROR_FLOOR)."""
    if mechanism.ERROR_FLOOR or not isinstance(mechanism.domain, Cells) or mechanism.rounds > 1:
        return
    if issubclass(mechanism.ESTIMATE, CellEstimate):
        Runs(mechanism, devices=2_000, seed=11).until(400).check(ratio=0.15, coverage=0.02)


def values_outside_are_refused_and_never_shown(mechanism: Mechanism) -> None:
    """A message with a device's value in it would be a leak."""
    for no_value in (_MARKED, [_MARKED], {_MARKED: _MARKED}, float(_MARKED), str(_MARKED), None):
        _is_read_or_refused(mechanism, no_value)
    if not isinstance(mechanism.domain, AxesDomain):
        return
    wrong = np.array(mechanism.domain.shape) + 777_000
    try:
        mechanism.perturb(wrong[:1] if len(wrong) == 1 else wrong[None, :], seeded(1))
    except ValueOutsideDomain as error:
        expect("777" not in str(error), f"outside: the message shows the value: {error}")
    else:
        expect(False, "outside: a value outside the domain must raise ValueOutsideDomain")


def _is_read_or_refused(mechanism: Mechanism, value: object) -> None:
    try:
        mechanism.domain.one(value)
    except ValueOutsideDomain as error:
        expect(str(_MARKED) not in str(error), f"outside: the message shows the value: {error}")
    except Exception as error:
        kind = f"{type(value).__name__} must be read or raise ValueOutsideDomain, got {type(error).__name__}"
        expect(False, f"outside: a value of type {kind}")


def canonical_options_build_the_same(mechanism: Mechanism) -> None:
    """Devices and servers read the canonical survey: it must mean the same to all of them."""
    again = type(mechanism).create(mechanism.epsilon, mechanism.domain, mechanism.canonical_options())
    expect(again.canonical_options() == mechanism.canonical_options(), "options: canonical options must stay the same")
    expect(again.layout == mechanism.layout, "options: canonical options must give the same layout")
    expect(again.arrays == mechanism.arrays, "options: canonical options must give the same state")


MECHANISM_LAWS: tuple[Law, ...] = (
    channel_keeps_the_guarantee,
    budget_is_spent_and_not_exceeded,
    device_draws_from_the_channel,
    device_uses_the_given_randomness,
    folding_parts_is_folding_all,
    estimate_is_unbiased_with_the_stated_variance,
    values_outside_are_refused_and_never_shown,
    canonical_options_build_the_same,
)


def check_mechanism(mechanism: Mechanism) -> None:
    """Every law of a mechanism, on a small domain."""
    for law in MECHANISM_LAWS:
        law(mechanism)
