"""Row 8: what a device draws, and how often, tells nothing: the steps are the same whatever its value and coins are.

Times are too noisy for a test; the calls to the source of randomness are what a mechanism's time consists of.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import Mechanism, build
from hearsay.mechanisms.exact.randomness import WORD, SecureRandom, SeededRandom, Words
from hearsay.mechanisms.oracles.subset_selection import SubsetSelection
from hearsay.mechanisms.ranges.level_mechanism import LevelMechanism
from tests.mechanisms.shared import ALL_CASES, CASES, skewed_cells

LISTED = [case for case in ALL_CASES if case.build().listed_values() is not None]


class Logged(SeededRandom):
    """Notes every draw that a mechanism asks for; its single coins may be told what to show."""

    def __init__(self, seed: int, coin: bool | None = None) -> None:
        super().__init__(seed)
        self.steps: list[tuple[Any, ...]] = []
        self._coin, self._inside = coin, False

    def _note(self, name: str, draw: Callable[..., Any], *arguments: Any) -> Any:
        if self._inside:
            return draw(*arguments)
        self.steps.append((name, *(len(each) if isinstance(each, np.ndarray) else each for each in arguments)))
        self._inside = True
        try:
            return draw(*arguments)
        finally:
            self._inside = False

    def words(self, count: int) -> Words:
        return self._note("words", super().words, count)

    def bernoulli(self, threshold: int, count: int) -> np.ndarray:
        drawn = self._note("bernoulli", super().bernoulli, threshold, count)
        return drawn if self._coin is None else np.full(count, self._coin)

    def below(self, bound: int, count: int) -> Words:
        return self._note("below", super().below, bound, count)

    def narrow_below(self, bound: int, count: int) -> np.ndarray:
        return self._note("narrow_below", super().narrow_below, bound, count)

    def choose(self, thresholds: Words, count: int) -> np.ndarray:
        return self._note("choose", super().choose, thresholds, count)

    def bits(self, threshold: int, rows: int, width: int) -> np.ndarray:
        return self._note("bits", super().bits, threshold, rows, width)


def steps(mechanism: Mechanism, cell: int, seed: int, coin: bool | None = None) -> list[tuple[Any, ...]]:
    cells = np.stack(np.unravel_index(np.array([cell]), mechanism.domain.shape), axis=1)
    return steps_of(mechanism, cells[:, 0] if cells.shape[1] == 1 else cells, seed, coin)


def steps_of(mechanism: Mechanism, value: Any, seed: int, coin: bool | None = None) -> list[tuple[Any, ...]]:
    """All draws for one device's value, in the shape that `perturb` takes."""
    random = Logged(seed, coin)
    mechanism.perturb(value, random)
    return random.steps


def redraws(mechanism: Mechanism) -> bool:
    """Whether it draws subsets, where a cell may be refused and drawn again."""
    oracles = mechanism.levels.oracles if isinstance(mechanism, LevelMechanism) else (mechanism,)
    return any(isinstance(oracle, SubsetSelection) for oracle in oracles)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_device_takes_the_same_steps_whatever_its_value_and_coins(case: Any) -> None:
    mechanism = build(case.table)
    bound = np.isfinite(mechanism.guarantee.matrix(mechanism.domain))
    values = list(range(0, mechanism.domain.size, max(1, mechanism.domain.size // 7)))
    pairs = [(one, other) for one, other in combinations(values, 2) if bound[one, other] or bound[other, one]]
    for seed in range(10):
        taken = {cell: {str(steps(mechanism, cell, seed, coin)) for coin in (None, False, True)} for cell in values}
        assert all(len(each) == 1 for each in taken.values())
        assert redraws(mechanism) or all(taken[one] == taken[other] for one, other in pairs)


def in_every_round(mechanism: Mechanism) -> list[Mechanism]:
    """The mechanism as it serves each of its rounds, after rounds of some devices."""
    served, history = [mechanism], []
    state = mechanism.empty()
    while len(served) < mechanism.rounds:
        served[-1].fold(state, served[-1].perturb(skewed_cells(mechanism, 2_000), SeededRandom(len(served))))
        public = served[-1].next_round(state)
        if public is None:
            break
        history.append(public)
        served.append(mechanism.in_round(history))
    return served


@pytest.mark.parametrize("case", LISTED, ids=lambda case: case.name)
def test_a_device_takes_the_same_steps_whatever_it_holds(case: Any) -> None:
    """Pairs, item sets and numbers: nothing hangs on which keys a device holds, on how many, or on its values."""
    for mechanism in in_every_round(build(case.table)):
        values = mechanism.listed_values()
        assert values is not None
        some = range(0, len(values), max(1, len(values) // 16))
        for seed in range(5):
            taken = {
                str(steps_of(mechanism, values[place : place + 1], seed, coin))
                for place in some
                for coin in (None, False, True)
            }
            assert len(taken) == 1


def test_sets_that_are_thinned_out_take_the_steps_of_small_ones() -> None:
    domain = {"kind": "key-value", "keys": 5}
    mechanism = build({"mechanism": "collision", "epsilon": 1.0, "domain": domain, "options": {"pairs": 2}})
    held = [{}, {0: 0.5}, {1: -1.0, 2: 1.0}, {0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4, 4: 0.5}]
    assert len({str(steps_of(mechanism, mechanism.domain.one(pairs), 3)) for pairs in held}) == 1


@pytest.mark.parametrize("size", [2, 6, 64, 65, 300, 1000])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_a_subset_is_drawn_in_the_same_steps_whatever_the_coin_shows(size: int, epsilon: float) -> None:
    """Cells may be refused and drawn again, but not more or less often where the true cell is to be named."""
    mechanism = SubsetSelection.over(size, epsilon)
    for seed in range(50):
        assert steps(mechanism, size // 2, seed, True) == steps(mechanism, size // 2, seed, False)


def test_a_sensitive_value_takes_the_steps_of_another() -> None:
    mechanism = build({
        "mechanism": "highlow-hr", "epsilon": 1.0,
        "domain": {"kind": "categorical", "size": 8, "sensitive": [1, 4, 5]},
    })  # fmt: skip
    assert steps(mechanism, 1, 3) == steps(mechanism, 0, 3)


class Counted(SecureRandom):
    """How many words each draw takes from the operating system."""

    def __init__(self) -> None:
        self.taken: list[int] = []

    def words(self, count: int) -> Words:
        self.taken.append(count)
        return super().words(count)


@pytest.mark.parametrize("threshold", [1, WORD // 3, WORD // 2, (5 << 56) + 7, WORD - 5])
def test_a_device_s_coins_take_the_same_words_whatever_they_show(threshold: int) -> None:
    single, vector = set(), set()
    for _ in range(3_000):
        random = Counted()
        random.bernoulli(threshold, 1)
        single.add(tuple(random.taken))
        random = Counted()
        random.bits(threshold, 1, 13)
        vector.add(tuple(random.taken))
    assert len(single) == len(vector) == 1
