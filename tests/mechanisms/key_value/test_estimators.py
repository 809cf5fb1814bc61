"""What the paper's estimators do: their bias, virtual rounds, and theorem 5.3."""

from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.key_value.calibration import Coins, Seen, paper_mean, theta, unbiased, virtual_mean
from hearsay.mechanisms.key_value.privkv import PrivKV
from hearsay.mechanisms.key_value.privkv_split import PrivKVSplit
from hearsay.mechanisms.key_value.privkvm import PrivKVM
from hearsay.mechanisms.key_value.privkvm_plus import PrivKVMPlus
from hearsay.mechanisms.key_value.rounds import SCALE
from tests.mechanisms.key_value.people import domain

F, M = np.array([0.1, 0.4, 0.9]), np.array([-0.5, 0.7, 0.2])


def expected(coins: Coins) -> Seen:
    """What infinitely many reports would show."""
    p = coins.presence
    present = F * p + (1 - F) * (1 - p)
    balance = coins.gain * (p * F * M + (1 - p) * (1 - F) * coins.fake)
    return Seen(np.full(3, 1e12), present, balance)


@pytest.mark.parametrize("fake", [0.0, 1.0, -0.3])
def test_calibration_inverts_the_coins(fake: float) -> None:
    coins = Coins(0.7, 0.8, fake)
    ratio = unbiased(expected(coins), coins)
    np.testing.assert_allclose(ratio.share, F)
    np.testing.assert_allclose(ratio.mean(), M)


@pytest.mark.parametrize("fake", [0.0, 1.0])
def test_the_papers_mean_is_pulled_to_the_fakes_by_theta_and_virtual_rounds_undo_it(fake: float) -> None:
    coins = Coins(0.7, 0.8, fake)
    seen, part = expected(coins), theta(F, 0.7)
    np.testing.assert_allclose(paper_mean(seen, coins)[0], M + part * (fake - M))
    for rounds in (1, 3, 6):
        np.testing.assert_allclose(virtual_mean(seen, coins, rounds)[0], M + part**rounds * (fake - M))
    np.testing.assert_allclose(virtual_mean(seen, coins, 1000)[0], M, atol=1e-6)


def expected_state(mechanism: Any, state: dict, reports: int) -> None:
    """The counts that so many reports a key have on average, rounded."""
    here = mechanism.number
    for key in range(3):
        table = mechanism.round_channel(here, float(mechanism.fakes(here)[key, 0]))
        holds = np.array([1 - F[key], F[key] * (1 - M[key]) / 2, F[key] * (1 + M[key]) / 2])
        state[mechanism.array(here)][key, 0] = np.rint(reports * (holds @ table))


@pytest.mark.parametrize("presence", ["none", "literal"])
def test_the_bias_shrinks_as_theorem_5_3_says(presence: str) -> None:
    """By theta_1 in round 1, then by 1 - f a round: a non-holder's sign is never hidden by a presence coin after it."""
    options = {"rounds": 4, "estimator": "paper", "initial": 1.0, "presence": presence}
    mechanism = PrivKVM.create(2.0, domain(3), options)
    state, history = mechanism.empty(), []
    bias = 1.0 - M
    for number in range(1, 5):
        here = mechanism.in_round(history)
        expected_state(here, state, 10**12)
        found = here.estimate(state)
        p = here._coins(number).presence
        bias = bias * (theta(F, p) if number == 1 else 1 - F)
        np.testing.assert_allclose(found.biased_means[:, 0] - M, bias, atol=1e-5)
        np.testing.assert_allclose(found.ratio.mean()[:, 0], M, atol=1e-4)
        history.append(here.next_round(state))
    assert history[-1] is None


def test_published_means_are_integers_and_nothing_found_is_zero() -> None:
    mechanism = PrivKVM.create(2.0, domain(3), {"rounds": 2})
    assert mechanism.next_round(mechanism.empty()) == {"means": [0, 0, 0]}
    state = mechanism.empty()
    expected_state(mechanism, state, 10**9)
    means = mechanism.next_round(state)["means"]
    assert all(type(mean) is int for mean in means)
    np.testing.assert_allclose(np.array(means) / SCALE, M, atol=1e-3)


def test_privkvm_plus_stops_when_another_round_is_not_worth_it() -> None:
    settled = PrivKVMPlus.create(2.0, domain(3), {"cost": 0.9})
    state = settled.empty()
    expected_state(settled, state, 10**9)
    assert settled.next_round(state) is None
    assert "cost" in settled.why_over(state)
    noisy = PrivKVMPlus.create(2.0, domain(3), {"cost": 0.0})
    state = noisy.empty()
    expected_state(noisy, state, 20)
    assert "noise" in noisy.why_over(state)
    expected_state(noisy, state, 10**9)
    assert noisy.why_over(state) is None
    last = PrivKVMPlus.create(2.0, domain(3), {"cost": 0.0, "rounds": 1})
    assert "last of 1 rounds" in last.why_over(state)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (PrivKV, {"virtual": 3}, "options.virtual must be 0"),
        (PrivKV, {"estimator": "paper"}, "options.estimator must be unbiased"),
        (PrivKVSplit, {"budget": "split", "bins": 4}, "options.bins must be 2"),
        (PrivKVSplit, {"budget": "split", "virtual": 3, "estimator": "paper"}, "options.virtual goes with"),
        (PrivKVM, {"budget": "joint"}, "unknown key 'budget'"),
    ],
)
def test_options_that_do_not_go_together_are_refused(kind: Any, options: dict, message: str) -> None:
    with pytest.raises(SpecificationError, match=message):
        kind.create(1.0, domain(3), options)
