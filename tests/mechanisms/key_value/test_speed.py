"""How long a million devices take."""

import time

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.exact.randomness import secure, seeded
from hearsay.mechanisms.key_value.simulated.laws import PairLaw
from hearsay.mechanisms.oracles.grr import GRR

KEYS = 10_000


@pytest.mark.slow
def test_a_million_devices_with_twenty_pairs_each_are_simulated_in_ten_seconds() -> None:
    law = PairLaw(np.full(KEYS, 20 / KEYS), np.linspace(-1, 1, KEYS))
    made = build({"mechanism": "privkv", "epsilon": 1.0, "domain": {"kind": "key-value", "keys": KEYS}})
    started = time.process_time()
    pairs = law.draw(1_000_000, 1, np.random.default_rng(1))
    state = made.fold(made.empty(), made.perturb(pairs, secure()))
    found = made.estimate(state)
    assert time.process_time() - started < 10
    assert len(pairs.keys) == pytest.approx(20_000_000, rel=0.001)
    assert abs(found.share.mean() - 20 / KEYS) < 5 * found.share.std() / np.sqrt(KEYS)


@pytest.mark.slow
def test_folding_is_as_quick_as_randomised_response() -> None:
    made = build({"mechanism": "privkv", "epsilon": 1.0, "domain": {"kind": "key-value", "keys": KEYS}})
    grr = GRR.over(3 * KEYS, 1.0)
    plain = grr.perturb(np.zeros(1_000_000, dtype=np.int64), seeded(1))
    nobody = PairLaw(np.zeros(KEYS), np.zeros(KEYS)).draw(1_000_000, 1, np.random.default_rng(1))
    keyed = made.perturb(nobody, seeded(1))

    def best(fold: object, reports: object, state: object) -> float:
        times = []
        for _ in range(9):
            started = time.process_time()
            fold(state, reports)  # type: ignore[operator]
            times.append(time.process_time() - started)
        return min(times)

    assert best(made.fold, keyed, made.empty()) < 3 * best(grr.fold, plain, grr.empty()) + 0.002
