"""`mean` with `moments = 2`: half of the devices tell x, half x^2."""

from math import sqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hearsay import Survey, simulate
from hearsay.collector.errors import SurveyError
from hearsay.mechanisms import build, merge
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.layout import select
from hearsay.mechanisms.means.two_moments import MomentsEstimate, TwoMoments
from hearsay.mechanisms.questions import answer, parse_text

MOMENTS = {"mechanism": "mean", "epsilon": 1.0, "options": {"moments": 2}}


def survey(low: float = -1.0, high: float = 1.0, **more: Any) -> Any:
    return build({**MOMENTS, "domain": {"kind": "number", "low": low, "high": high}, **more})


def test_the_option_chooses_the_form_and_stays_in_the_canonical_survey() -> None:
    mechanism = survey()
    assert isinstance(mechanism, TwoMoments)
    assert mechanism.canonical_options()["moments"] == 2
    plain = build({**MOMENTS, "options": {"moments": 1}, "domain": {"kind": "number", "low": -1, "high": 1}})
    assert "moments" not in plain.canonical_options(), "surveys that were there keep their tags"


@pytest.mark.parametrize("channel", ["minimax", "duchi", "piecewise", "hybrid"])
def test_the_channel_keeps_epsilon_and_devices_draw_from_it(channel: str) -> None:
    mechanism = survey(options={"moments": 2, "channel": channel})
    rows = mechanism.channel()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)
    assert (rows.max(axis=0) <= rows.min(axis=0) * np.exp(1.0) * (1 + 1e-9)).all()
    outputs, draws = len(mechanism.table.outputs), 100_000
    for number, row in list(zip(mechanism.listed_values(), rows, strict=True))[:: max(1, len(rows) // 3)]:
        told = mechanism.perturb(np.full(draws, number), seeded(3))
        counts = np.bincount(told["moment"].astype(int) * outputs + told["output"], minlength=2 * outputs)
        kept = row * draws > 20
        off = (counts - draws * row)[kept] / np.sqrt(draws * row[kept])
        assert (np.abs(off) < 5.5).all()


NUMBERS = np.linspace(-1, 1, 41)


def normal(mean: float, std: float, n: int) -> NDArray[np.int64]:
    """How many of about n devices hold each number."""
    weights = np.exp(-(((NUMBERS - mean) / std) ** 2) / 2)
    return np.rint(n * weights / weights.sum()).astype(np.int64)


def drawn(mechanism: Any, counts: NDArray[np.int64], runs: int) -> list[MomentsEstimate]:
    """Estimates of so many surveys of such devices, without playing each."""
    generator, chances, estimates = np.random.default_rng(1), [], []
    for numbers in (NUMBERS, 2 * NUMBERS**2 - 1):
        rows = np.stack([np.interp(numbers, mechanism.table.numbers, column) for column in mechanism.table.chances.T])
        chances.append((rows / rows.sum(axis=0)).T)
    for _ in range(runs):
        asked = generator.binomial(counts, 0.5)
        halves = zip(mechanism.arrays, (asked, counts - asked), chances, strict=True)
        state = {name: generator.multinomial(devices, rows).sum(axis=0) for name, devices, rows in halves}
        estimates.append(mechanism.estimate(state))
    return estimates


def held(estimates: list[MomentsEstimate], counts: NDArray[np.int64]) -> float:
    """How often the interval of the standard deviation holds it."""
    mean = NUMBERS @ counts / counts.sum()
    truth = sqrt((NUMBERS - mean) ** 2 @ counts / counts.sum())
    return float(np.mean([estimate.spread.low <= truth <= estimate.spread.high for estimate in estimates]))


@pytest.mark.parametrize(("runs", "off"), [(400, 0.05), pytest.param(4_000, 0.01, marks=pytest.mark.slow)])
@pytest.mark.parametrize("n", [20_000, 200_000])
def test_errors_are_those_of_the_formulas_and_intervals_hold(n: int, runs: int, off: float) -> None:
    """n Var 7.99 of the mean and (2.0 + 4 m^2 7.99)/(4 s^2) of the standard deviation at epsilon 1, on -1..1.

    The latter is the slope of the root alone: the root's bend adds r^2 7/16, r the relative error of s^2.
    """
    people = normal(0.25, 0.25, n)
    m = NUMBERS @ people / people.sum()
    s = sqrt((NUMBERS - m) ** 2 @ people / people.sum())
    relative = sqrt((2.0 + 4 * m**2 * 7.99) / n) / s**2
    expected = sqrt(7.99 / n), s * relative / 2 * (1 + 7 / 16 * relative**2)
    estimates = drawn(survey(), people, runs)
    for place, (truth, found) in enumerate(((m, [each.mean() for each in estimates]),
                                            (s, [each.std() for each in estimates]))):  # fmt: skip
        value, stderr = (np.array([getattr(each, part)[0] for each in found]) for part in ("value", "stderr"))
        low, high = np.array([[end[0] for end in each.ends()] for each in found]).T
        assert np.median(stderr) == pytest.approx(expected[place], rel=0.03)
        assert value.std() == pytest.approx(expected[place], rel=4 / sqrt(2 * runs) + 0.01)
        assert abs(((low <= truth) & (truth <= high)).mean() - 0.95) < off


def mostly(number: float, end: float, n: int) -> NDArray[np.int64]:
    """Nine in ten hold one number, the others an end."""
    return np.where(np.isclose(NUMBERS, number), 9 * n // 10, 0) + np.where(np.isclose(NUMBERS, end), n // 10, 0)


@pytest.mark.parametrize(
    ("channel", "people"),
    [
        ("hybrid", normal(0.25, 0.25, 20_000)),
        pytest.param("minimax", normal(0.25, 0.25, 20_000), marks=pytest.mark.slow),
        ("minimax", mostly(0.5, -1.0, 20_000)),
    ],
    ids=["together", "together, minimax", "against each other"],
)
def test_what_one_half_lacks_the_other_half_has(channel: str, people: NDArray[np.int64]) -> None:
    """Mean and mean square err together, which widens the interval where noise is small: without it 89.5% held. Where
    large numbers are those far below 0 they err against each other: with the bound alone 99.8% held."""
    mechanism = survey(epsilon=4.0, options={"moments": 2, "channel": channel})
    assert 0.925 < held(drawn(mechanism, people, 1_000), people) < 0.975


@pytest.mark.parametrize(("channel", "epsilon", "shown"), [("minimax", 4.0, True), ("duchi", 4.0, False)])
def test_cubes_are_told_where_outputs_show_them(channel: str, epsilon: float, shown: bool) -> None:
    table = survey(epsilon=epsilon, options={"moments": 2, "channel": channel}).table
    assert (table.cubes is not None) == shown
    if table.cubes is not None:
        np.testing.assert_allclose(table.chances @ table.cubes, table.numbers**3, atol=0.06)


def test_an_interval_that_begins_at_0_misses_on_one_side_only() -> None:
    """A standard deviation that is no larger than its error: 97.5% hold; the stated error is the answers' spread."""
    people = normal(0.5, 0.1, 5_000)
    estimates = drawn(survey(), people, 1_500)
    assert 0.955 < held(estimates, people) < 0.995
    error = np.std([estimate.spread.value for estimate in estimates])
    assert np.median([estimate.spread.stderr for estimate in estimates]) == pytest.approx(error, rel=0.12)


def test_answers_are_in_the_domains_units() -> None:
    mechanism = survey(0, 24, epsilon=4.0)
    people = np.random.default_rng(1).normal(7.0, 1.5, 200_000).clip(0, 24)
    estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(people, seeded(1))))
    exact = mechanism.exact(people)
    for question, truth in (("mean", people.mean()), ("std", people.std())):
        (found,) = answer(parse_text(question), estimate)
        assert abs(found.value - truth) < 5 * found.stderr < 0.6
        assert found.low < found.value < found.high
        (true,) = answer(parse_text(question), exact)
        assert (true.value, true.stderr) == (pytest.approx(truth), 0.0)
    with pytest.raises(QueryError, match="count does not apply to std"):
        answer(parse_text("std"), estimate, count=True)


def test_one_moment_has_no_standard_deviation_and_says_which_option_has() -> None:
    plain: Any = build({**MOMENTS, "options": {}, "domain": {"kind": "number", "low": -1, "high": 1}})
    estimate = plain.exact(np.zeros(5))
    with pytest.raises(QueryError, match=r"options.moments = 2"):
        answer(parse_text("std"), estimate)


def test_what_one_half_did_not_report_is_unknown() -> None:
    mechanism = survey()
    only_squares = {"moment": np.ones(50, dtype=np.uint8), "output": np.zeros(50, dtype=np.uint8)}
    estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), only_squares))
    for question in ("mean", "std"):
        (found,) = answer(parse_text(question), estimate)
        assert (found.value, found.stderr) == (None, None)


def test_folding_parts_equals_folding_all() -> None:
    mechanism = survey()
    reports = mechanism.perturb(np.linspace(-1, 1, 999), seeded(4))
    whole, parts = mechanism.fold(mechanism.empty(), reports), mechanism.empty()
    for part in np.array_split(np.arange(999), 5):
        merge(parts, mechanism.fold(mechanism.empty(), select(reports, part)))
    assert mechanism.reports(whole) == 999
    for name, array in whole.items():
        np.testing.assert_array_equal(array, parts[name])


def test_a_survey_of_the_mean_alone_says_how_to_get_the_standard_deviation() -> None:
    table = {"name": "pay", "mechanism": "mean", "epsilon": 1.0, "domain": {"kind": "number", "low": 0, "high": 9}}
    with pytest.raises(QueryError, match=r"use mean, with moments = 2 below \[options\] in the survey's file"):
        simulate(table, [1, 2, 3], seed=1).ask("std")
    asked = r'options must be empty where mechanism is "auto", got moments; to set it, write mechanism = "mean"'
    with pytest.raises(SurveyError, match=asked):
        Survey.of({**table, "mechanism": "auto", "options": {"moments": 2}})
