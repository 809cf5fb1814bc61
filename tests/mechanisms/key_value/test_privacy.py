"""Exact channels: of one report over all sets, of a device's whole sequence of rounds, with hostile signs."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.key_value.collision import Collision
from hearsay.mechanisms.key_value.heavy import Heavy
from hearsay.mechanisms.key_value.pckv_grr import PckvGRR
from hearsay.mechanisms.key_value.pckv_ue import PckvUE
from hearsay.mechanisms.key_value.privkv import PrivKV
from hearsay.mechanisms.key_value.privkv_split import PrivKVSplit
from hearsay.mechanisms.key_value.privkvm import PrivKVM
from hearsay.mechanisms.key_value.privkvm_plus import PrivKVMPlus
from hearsay.mechanisms.key_value.range_means import RangeMeans
from tests.mechanisms.key_value.people import ONE_IN_A_MILLION, domain, worst_loss

EXACT = [  # mechanisms whose worst pair of sets spends all of epsilon
    (PrivKV, domain(3), {}),
    (PrivKV, domain(2, 2), {}),
    (PrivKV, domain(2, 0), {}),
    (PrivKV, domain(2), {"bins": 4}),
    (PrivKVSplit, domain(3), {"budget": "split", "initial": 1.0}),
    (PckvGRR, domain(2), {"padding": 1}),
    (PckvGRR, domain(3), {"padding": 2}),
    (PckvGRR, domain(3), {"padding": 3}),
    (PckvGRR, domain(2, 2), {"padding": 2}),
    (PckvGRR, domain(4, 0), {"padding": 2}),
    (PckvUE, domain(2), {"padding": 1}),
    (Collision, domain(3), {"pairs": 3, "hashes": 4}),
    (RangeMeans, domain(3, ordered=True), {"fanout": 2, "padding": 1}),
    (Heavy, domain(4, 0, ordered=True), {"k": 1, "padding": 2}),
]
AMPLIFIED = [  # padding hides more than these formulas use
    (Collision, domain(4, 0), {"pairs": 4, "hashes": 6}),  # the full set covers all that others can name
    (PckvUE, domain(3), {"padding": 2}),
    (PckvUE, domain(2), {"padding": 3}),
    (PckvUE, domain(3, 0), {"padding": 2}),
    (RangeMeans, domain(3, ordered=True), {"fanout": 2, "padding": 2}),
    (PrivKVSplit, domain(3), {"budget": "split"}),
]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize(("kind", "over", "options"), EXACT)
def test_one_report_spends_what_is_claimed(kind: Any, over: Any, options: dict, epsilon: float) -> None:
    mechanism = kind.create(epsilon, over, options)
    loss = worst_loss(mechanism.channel())
    assert loss <= epsilon * (1 + 1e-12)
    assert loss == pytest.approx(mechanism.spent_epsilon, rel=1e-9)
    assert epsilon * (1 - 1e-6) <= mechanism.spent_epsilon <= epsilon


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize(("kind", "over", "options"), AMPLIFIED)
def test_one_report_spends_at_most_the_claim(kind: Any, over: Any, options: dict, epsilon: float) -> None:
    mechanism = kind.create(epsilon, over, options)
    assert worst_loss(mechanism.channel()) <= mechanism.spent_epsilon * (1 + 1e-9)
    assert mechanism.spent_epsilon <= epsilon


@pytest.mark.parametrize(("epsilon", "spent"), [(0.5, 0.37), (1.0, 0.72), (2.0, 1.38), (4.0, 2.57)])
def test_two_coins_with_fair_fakes_waste_half_of_epsilon(epsilon: float, spent: float) -> None:
    assert PrivKVSplit.create(epsilon, domain(3), {"budget": "split"}).spent_epsilon == pytest.approx(spent, abs=0.006)


@pytest.mark.parametrize(("kind", "over", "options"), EXACT + AMPLIFIED)
def test_devices_draw_from_the_channel(kind: Any, over: Any, options: dict) -> None:
    assert_drawn_from(kind.create(1.0, over, options), over)


@pytest.mark.parametrize("presence", ["none", "literal"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_devices_draw_from_the_channel_of_every_round(number: int, presence: str) -> None:
    mechanism = PrivKVM.create(2.0, domain(2), {"rounds": 3, "initial": -0.5, "presence": presence})
    assert_drawn_from(mechanism.in_round([{"signs": "+-"}, {"means": [1 << 19, -(1 << 18)]}][: number - 1]), domain(2))


def assert_drawn_from(mechanism: Any, over: Any) -> None:
    """What 20,000 devices with each of some sets say, against the exact channel."""
    channel, listed = mechanism.channel(), mechanism.layout.enumerate()
    sets = over.every_set(getattr(mechanism, "bins", 2 if over.dimensions else 1))
    draws = 20_000
    number = {row: place for place, row in enumerate(_rows(listed))}
    for device in range(0, len(sets), max(1, len(sets) // 5)):
        reports = mechanism.perturb(sets[np.full(draws, device)], seeded(device + 5))
        counts = np.bincount([number[row] for row in _rows(reports)], minlength=channel.shape[1])
        expected = draws * channel[device]
        assert (counts[expected == 0] == 0).all()
        usual = expected > 0
        spread = np.sqrt(expected[usual] * (1 - channel[device][usual])) + 3
        assert (np.abs(counts[usual] - expected[usual]) < 1.3 * ONE_IN_A_MILLION * spread).all()


def _rows(reports: dict) -> list[bytes]:
    names = sorted(reports)
    count = len(reports[names[0]])
    columns = [reports[name].reshape(count, -1).astype(np.int64) for name in names]
    return [row.tobytes() for row in np.concatenate(columns, axis=1)]


def sequence_channel(mechanism: PrivKVM, sets: list[tuple[int, ...]], strategy: Any) -> np.ndarray:
    """P(all reports of all rounds | set); `strategy` publishes a sign per key after each round, seeing all before.

    A set gives the true symbol (0 absent, 1 minus, 2 plus) of every key. Only sampled keys and symbols are seen.
    """
    keys, rounds = mechanism.domain.size, mechanism.rounds
    columns = []

    def walk(number: int, seen: tuple, chances: np.ndarray) -> None:
        if number > rounds:
            columns.append(chances)
            return
        fakes = (mechanism.options["initial"],) * keys if number == 1 else strategy(seen)
        for key in range(keys):
            table = mechanism.round_channel(number, fakes[key])
            for symbol in range(table.shape[1]):
                rows = np.array([table[own[key], symbol] for own in sets])
                walk(number + 1, (*seen, (key, symbol)), chances * rows / keys)

    walk(1, (), np.ones(len(sets)))
    return np.stack(columns, axis=1)


SETS = list(product(range(3), repeat=2))


@pytest.mark.parametrize("presence", ["none", "literal"])
def test_a_whole_sequence_with_a_known_first_fake_is_exactly_epsilon(presence: str) -> None:
    mechanism = PrivKVM.create(1.0, domain(2), {"rounds": 3, "initial": 1.0, "presence": presence})
    loss = worst_loss(sequence_channel(mechanism, SETS, lambda seen: (1.0, 1.0)))
    assert loss == pytest.approx(1.0, rel=1e-9)
    assert loss <= 1.0 + 1e-12
    assert mechanism.spent_epsilon == pytest.approx(loss, rel=1e-9)


def test_a_private_first_fake_spends_less() -> None:
    mechanism = PrivKVM.create(1.0, domain(2), {"rounds": 3})
    loss = worst_loss(sequence_channel(mechanism, SETS, lambda seen: (1.0, -1.0)))
    assert loss == pytest.approx(mechanism.spent_epsilon, rel=1e-9)
    assert loss < 0.95


@pytest.mark.parametrize("kind", [PrivKVM, PrivKVMPlus])
def test_hostile_adaptive_signs_do_not_break_the_guarantee(kind: Any) -> None:
    """Whoever hands out the rounds picks each device's signs in the worst way, seeing all its earlier reports."""
    generator = np.random.default_rng(8)
    mechanism = kind.create(1.0, domain(2), {"rounds": 3, "initial": 1.0})
    most = 0.0
    for _ in range(40):
        memory: dict = {}

        def strategy(seen: tuple, memory: dict = memory) -> tuple[float, ...]:
            if seen not in memory:
                memory[seen] = tuple(generator.choice([-1.0, 1.0], 2))
            return memory[seen]

        most = max(most, worst_loss(sequence_channel(mechanism, SETS, strategy)))
    assert most <= 1.0 + 1e-12
    assert most >= mechanism.spent_epsilon * (1 - 1e-9)


@pytest.mark.parametrize("options", [{}, {"initial": 1.0}, {"presence": "literal", "initial": -1.0}])
@pytest.mark.parametrize("kind", [PrivKVM, PrivKVMPlus])
def test_no_strategy_at_all_breaks_the_guarantee(kind: Any, options: dict) -> None:
    """What a device says in all rounds depends only on the signs it was offered on its own way through them: so the
    worst of all adaptive strategies is the worst of all pairs of sign vectors, whatever was said before."""
    mechanism = kind.create(1.0, domain(2), {"rounds": 3, **options})
    offers = list(product([-1.0, 1.0], repeat=2))
    worst = max(
        worst_loss(sequence_channel(mechanism, SETS, lambda seen, pair=pair: pair[len(seen) - 1]))
        for pair in product(offers, repeat=2)
    )
    assert worst <= 1.0 + 1e-12
    assert worst == pytest.approx(mechanism.spent_epsilon, rel=1e-9)


def test_the_budgets_of_privkvm_plus_never_add_up_to_more_than_epsilon() -> None:
    from fractions import Fraction

    for decay in (1.5, 2.0, 7.0):
        mechanism = PrivKVMPlus.create(0.7, domain(2), {"rounds": 40, "decay": decay})
        total = Fraction(mechanism.presence_budget()) + sum(Fraction(mechanism.sign_budget(r)) for r in range(1, 41))
        assert total <= Fraction(0.7)
        assert mechanism.sign_budget(3) == pytest.approx(0.7 / decay * (1 - 1 / decay) ** 2)


def test_the_second_round_of_heavy_mixes_rows_of_the_tree() -> None:
    over = domain(4, 0, ordered=True)
    mechanism = Heavy.create(1.0, over, {"k": 1, "padding": 2}).in_round([{"candidates": [1, 3]}])
    assert worst_loss(mechanism.second.channel()) <= 1.0 + 1e-12
    assert 0.5 < worst_loss(mechanism.channel()) <= 1.0 + 1e-12
    assert_drawn_from(mechanism, over)
