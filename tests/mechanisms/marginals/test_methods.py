"""Every method against brute force: the channel, the inverse, and the covariance of what it estimates."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms.base import State
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.layout import select
from hearsay.mechanisms.marginals.estimate import MarginalEstimate
from hearsay.mechanisms.marginals.mechanism import AttributeMechanism
from hearsay.mechanisms.marginals.methods.calm import Calm
from hearsay.mechanisms.marginals.methods.inp_em import InpEM
from hearsay.mechanisms.marginals.methods.inp_ht import InpHT
from hearsay.mechanisms.marginals.methods.inp_olh import InpOLH
from hearsay.mechanisms.marginals.methods.marg_ht import MargHT
from hearsay.mechanisms.marginals.methods.marg_views import MargPS, MargRR
from hearsay.mechanisms.marginals.methods.sketch import AttributeSketch
from hearsay.mechanisms.marginals.methods.whole_table import InpPS, InpRR
from tests.mechanisms.marginals.shared import MANY, each_report, expected_state, make, sets, summed, truth, uneven

Case = tuple[type[AttributeMechanism], Sequence[int], int, float, dict[str, Any]]
SMALL: dict[str, Case] = {
    "inp-ht": (InpHT, (2,) * 4, 2, 1.1, {}),
    "inp-ht as in the dissertation": (InpHT, (2,) * 4, 2, 1.1, {"weights": "uniform", "t": 1}),
    "inp-ht of order 3": (InpHT, (2,) * 4, 3, 0.9, {}),
    "inp-ht binary code": (InpHT, (3, 2, 5), 2, 1.1, {"code": "binary"}),
    "inp-ht natural": (InpHT, (3, 2, 5), 2, 1.1, {"code": "natural"}),
    "inp-ht natural, t = 3": (InpHT, (4, 3, 4), 2, 2.0, {"code": "natural", "t": 3}),
    "inp-rr": (InpRR, (2,) * 3, 2, 1.1, {}),
    "inp-rr literal": (InpRR, (3, 2), 1, 1.1, {"known_total": False}),
    "inp-ps": (InpPS, (2, 3, 2), 2, 1.1, {}),
    "marg-rr": (MargRR, (2,) * 4, 2, 1.1, {}),
    "marg-rr categories": (MargRR, (2, 3, 2), 2, 1.1, {}),
    "marg-ps": (MargPS, (2,) * 4, 3, 1.1, {}),
    "marg-ps categories": (MargPS, (2, 3, 5), 2, 1.1, {}),
    "marg-ht": (MargHT, (2,) * 4, 3, 1.1, {}),
    "marg-ht categories": (MargHT, (2, 3, 4), 2, 1.1, {}),
    "inp-olh": (InpOLH, (2,) * 4, 2, 1.1, {}),
    "inp-olh, t = 3": (InpOLH, (3, 2, 4), 2, 2.0, {}),
    "inp-em": (InpEM, (2,) * 4, 3, 2.0, {}),
    "inp-em categories": (InpEM, (2, 3, 2), 2, 2.0, {}),
    "calm": (Calm, (2,) * 5, 2, 1.1, {}),
}
EIGHT: dict[str, Case] = {
    "inp-ht": (InpHT, (2,) * 8, 2, 1.1, {}),
    "inp-ht of order 3": (InpHT, (2,) * 8, 3, 1.1, {}),
    "inp-ps": (InpPS, (2,) * 8, 3, 1.1, {}),
    "marg-rr": (MargRR, (2,) * 8, 2, 1.1, {}),
    "marg-ps": (MargPS, (2,) * 8, 3, 1.1, {}),
    "marg-ht": (MargHT, (2,) * 8, 3, 1.1, {}),
    "inp-olh": (InpOLH, (2,) * 8, 2, 1.1, {}),
    "inp-em": (InpEM, (2,) * 8, 3, 4.0, {}),
    "calm": (Calm, (2,) * 8, 2, 1.1, {}),
}


@pytest.fixture(params=SMALL.values(), ids=SMALL.keys())
def mechanism(request: pytest.FixtureRequest) -> AttributeMechanism:
    method, sizes, order, epsilon, options = request.param
    made: AttributeMechanism = make(method, sizes, order, epsilon, **options)
    return made


def check_inverse(mechanism: AttributeMechanism) -> None:
    """From the state that is expected of known shares, every table is those shares."""
    shares = uneven(mechanism.domain.shape)
    state = expected_state(mechanism, shares, each_report(mechanism))
    estimate = mechanism.estimate(state)
    for chosen in sets(mechanism):
        backwards = chosen[::-1]
        expected = summed(shares, mechanism.domain.shape, backwards)
        np.testing.assert_allclose(estimate.table(backwards).value, expected, atol=1e-6)


def test_inverse_is_exact(mechanism: AttributeMechanism) -> None:
    check_inverse(mechanism)


@pytest.mark.parametrize("case", EIGHT.values(), ids=EIGHT.keys())
def test_inverse_of_eight_attributes_is_exact(case: Case) -> None:
    method, sizes, order, epsilon, options = case
    check_inverse(make(method, sizes, order, epsilon, **options))


def test_inverse_of_a_bit_for_each_of_256_combinations_is_exact() -> None:
    """Its reports cannot be listed; but how often each bit is expected can."""
    mechanism, shares = make(InpRR, (2,) * 8, 3, 1.1), uneven((2,) * 8)
    p, q, _ = mechanism.oracle.hit_chances()
    ones = np.rint(MANY * (shares * p + (1 - shares) * q)).astype(np.int64)
    estimate = mechanism.estimate({"ones": ones, "n": np.array([MANY])})
    for chosen in sets(mechanism):
        np.testing.assert_allclose(estimate.table(chosen).value, summed(shares, (2,) * 8, chosen), atol=1e-6)


LONG = ("calm", "inp-ht natural, t = 3")  # thousands of reports, each moved by itself


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in SMALL]
)
def test_covariance_is_that_of_one_report_s_influence(name: str) -> None:
    """n Cov = E[psi psi'] over reports, psi the change of a table for a small change of the share of one report."""
    method, sizes, order, epsilon, options = SMALL[name]
    mechanism = make(method, sizes, order, epsilon, **options)
    shares = uneven(mechanism.domain.shape)
    parts = each_report(mechanism)
    state = expected_state(mechanism, shares, parts)
    chances = shares @ mechanism.channel()
    before = mechanism.estimate(state)
    few = 10**6
    moved = [mechanism.estimate(_added(state, part, few)) for part in parts]
    for chosen in sets(mechanism):
        table = before.table(chosen)
        influence = np.array([(m.table(chosen).value - table.value) for m in moved]) * ((MANY + few) / few)
        expected = influence.T @ (influence * chances[:, None])
        np.testing.assert_allclose(table.covariance * MANY, expected, atol=5e-3 * np.abs(expected).max())
        held = summed(shares, mechanism.domain.shape, chosen)
        given = expected - np.diag(held) + np.outer(held, held)
        np.testing.assert_allclose(table.stderr**2 * MANY, np.diag(given), rtol=1e-2)


def test_stored_coefficients_are_those_of_the_tables(mechanism: AttributeMechanism) -> None:
    """The short way to all coefficients gives what the tables give."""
    state = expected_state(mechanism, uneven(mechanism.domain.shape), each_report(mechanism))
    estimate = mechanism.estimate(state)
    slow = MarginalEstimate.measured_coefficients.func(estimate)  # type: ignore[attr-defined]
    quick = estimate.arrays()
    np.testing.assert_allclose(quick["estimate"], slow.value, atol=1e-5)
    if all(size & (size - 1) == 0 for size in mechanism.domain.shape):
        np.testing.assert_allclose(quick["stderr"], slow.stderr, rtol=2e-3)
    else:  # tables know more than coefficients: that nobody holds a code without a meaning
        assert (slow.stderr <= quick["stderr"] * 1.002).all()


def _added(state: State, part: State, times: int) -> State:
    return {name: state[name] + times * part[name] for name in state}


def test_channel_keeps_epsilon_for_every_pair_of_values(mechanism: AttributeMechanism) -> None:
    channel = mechanism.channel()
    np.testing.assert_allclose(channel.sum(axis=1), 1.0, atol=1e-12)
    top, bottom = channel.max(axis=0), channel.min(axis=0)
    assert (top <= bottom * np.exp(mechanism.epsilon) * (1 + 1e-9)).all()
    assert mechanism.epsilon * (1 - 1e-6) <= mechanism.spent_epsilon <= mechanism.epsilon


def test_devices_draw_from_the_channel(mechanism: AttributeMechanism) -> None:
    draws = 60_000
    value = np.array([size - 1 for size in mechanism.domain.shape])
    row = mechanism.report_chances(value[None])[0]
    reports = mechanism.perturb(np.repeat(value[None], draws, axis=0), seeded(8))
    state = mechanism.fold(mechanism.empty(), reports)
    parts = each_report(mechanism)
    for name in state:
        each = np.stack([part[name] for part in parts]).astype(float)
        mean, square = row @ each, row @ each**2
        spread = np.sqrt(np.maximum(square - mean**2, 0.0) * draws)
        assert (np.abs(state[name] - draws * mean) <= 6 * spread + 1e-6).all(), name


def test_small_batches_fold_as_large_ones(mechanism: AttributeMechanism) -> None:
    generator = np.random.default_rng(2)
    values = np.stack([generator.integers(0, size, 900) for size in mechanism.domain.shape], axis=1)
    reports = mechanism.perturb(values, seeded(1))
    whole, parts = mechanism.fold(mechanism.empty(), reports), mechanism.empty()
    for start in range(0, 900, 3):
        mechanism.fold(parts, select(reports, slice(start, start + 3)))
    for name in whole:
        np.testing.assert_array_equal(whole[name], parts[name])
    assert mechanism.reports(whole) == 900


@pytest.mark.parametrize(
    ("method", "attributes", "order", "message"),
    [
        (InpRR, 17, 2, "at most 65536 combinations"),
        (InpPS, 23, 2, "at most 4194304 combinations"),
        (InpOLH, 29, 2, "at most 28 bits"),
        (InpEM, 49, 2, "at most 48 bits"),
        (AttributeSketch, 21, 2, "at most 1048576 combinations"),
        (Calm, 50, 2, "at most 49 attributes"),
        (InpHT, 60, 5, "at most 1048576 characters"),
        (MargHT, 60, 4, "at most 1048576 characters"),
        (MargPS, 60, 4, "at most 4194304 cells"),
    ],
)
def test_too_many_attributes_are_refused(
    method: type[AttributeMechanism], attributes: int, order: int, message: str
) -> None:
    with pytest.raises(SpecificationError, match=message):
        make(method, (2,) * attributes, order, 1.1)


@pytest.mark.parametrize("attributes", [16, 24, 32])
def test_large_surveys_are_possible(attributes: int) -> None:
    mechanism = make(InpHT, (2,) * attributes, 2, 1.1)
    assert mechanism.subspaces.t == 2
    values = np.random.default_rng(1).integers(0, 2, (50_000, attributes))
    estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(values, seeded(2))))
    table = estimate.table((attributes - 1, 0))
    assert (np.abs(table.value - truth(values, mechanism.domain.shape, (attributes - 1, 0))) < 6 * table.stderr).all()


def test_which_form_is_taken() -> None:
    assert make(InpHT, (2,) * 6, 2, 1.1).canonical_options() == {"weights": "levels", "t": 2, "code": "binary"}
    assert make(InpHT, (2,) * 6, 2, 0.5).canonical_options() == {"weights": "levels", "t": 1, "code": "binary"}
    assert make(InpHT, (2,) * 6, 1, 2.0).subspaces.t == 1
    assert make(InpHT, (3, 5, 7, 12), 2, 1.1).form == "natural"
    forced = make(InpHT, (3, 5, 7, 12), 2, 1.1, code="binary")
    assert forced.form == "binary"
    assert (
        forced.predicted_stderr(1000)["marginal"]
        > make(InpHT, (3, 5, 7, 12), 2, 1.1).predicted_stderr(1000)["marginal"]
    )
