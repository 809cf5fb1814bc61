"""How often differences claim a change that is none, and how often their intervals hold a change that is one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.changes import change
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.planning.drawn_states import draw_values
from hearsay.mechanisms.questions import parse_text

DEVICES = 1_000
SHARES = np.array([np.exp(-(((np.arange(16) - middle) / 3) ** 2)) for middle in (6, 7)])
SHARES /= SHARES.sum(axis=1, keepdims=True)
TABLE = np.array([[0.3, 0.2, 0.1, 0.4], [0.25, 0.25, 0.15, 0.35]])
KEYS = {"mechanism": "privkv", "domain": {"kind": "key-value", "keys": 2}}
_KEYS = build({**KEYS, "epsilon": 1.0}).domain
ONE_OF_EACH = _KEYS.check(_KEYS.join([_KEYS.one(value) for value in ({0: 1.0, 1: 0.5}, {0: -1.0, 1: 0.5}, {1: 0.5})]))
HOLDERS, MEANS = (0.6, 0.5), (0.2, -0.1)
Draw = Callable[[int, np.random.Generator], Any]


def on_a_line(side: int, generator: np.random.Generator) -> Any:
    return generator.choice(16, DEVICES, p=SHARES[side])


def attributes(side: int, generator: np.random.Generator) -> Any:
    cells = generator.choice(4, DEVICES, p=TABLE[side])
    return np.stack([cells // 2, cells % 2], axis=1)


def pairs(side: int, generator: np.random.Generator) -> Any:
    """Key 0 with values of two sizes and a given mean; everybody holds key 1."""
    plus, minus = HOLDERS[side] * (1 + MEANS[side]) / 2, HOLDERS[side] * (1 - MEANS[side]) / 2
    return ONE_OF_EACH[generator.choice(3, DEVICES, p=[plus, minus, 1 - plus - minus])]


def median(side: int) -> float:
    return float(np.searchsorted(SHARES[side].cumsum(), 0.5))


LINE = {"mechanism": "hierarchical", "domain": {"kind": "ordinal", "size": 16}}
ATTRIBUTES = {"mechanism": "inp-ht", "domain": {"kind": "attributes", "names": ["a", "b"], "sizes": [2, 2], "order": 2}}
CASES: dict[str, tuple[dict[str, Any], Draw, str, list[float]]] = {
    "range": (LINE, on_a_line, "range 4 7", [float(SHARES[0, 4:8].sum() - SHARES[1, 4:8].sum())]),
    "quantile": (LINE, on_a_line, "quantile 0.5", [median(0) - median(1)]),
    "marginal": (ATTRIBUTES, attributes, "marginal a b", (TABLE[0] - TABLE[1]).tolist()),
    "mean of a key": (KEYS, pairs, "mean 0", [MEANS[0] - MEANS[1]]),
}


def estimates(case: str, epsilon: float, side: int, count: int, generator: np.random.Generator) -> list[Estimate]:
    survey, draw, _, _ = CASES[case]
    mechanism = build({**survey, "epsilon": epsilon})

    def one() -> Estimate:
        return mechanism.estimate(draw_values(mechanism, draw(side, generator), generator))

    return [one() for _ in range(count)]


def claimed(case: str, epsilon: float, count: int, seed: int) -> float:
    """The share of unchanged pairs with p below 0.05."""
    generator, question = np.random.default_rng(seed), parse_text(CASES[case][2])
    ones, others = (estimates(case, epsilon, 0, count, generator) for _ in range(2))
    p = [each.p_value for a, b in zip(ones, others, strict=True) for each in change(question, a, b)]
    return float(np.mean(np.array(p) < 0.05))


def held(case: str, epsilon: float, count: int, seed: int) -> float:
    """The share of changed pairs whose interval holds the change."""
    generator, question, truth = np.random.default_rng(seed), parse_text(CASES[case][2]), CASES[case][3]
    ones, others = (estimates(case, epsilon, side, count, generator) for side in (0, 1))
    hits = []
    for a, b in zip(ones, others, strict=True):
        for each, true in zip(change(question, a, b), truth, strict=True):
            hits.append((each.low or 0.0) - 1e-9 <= true <= (each.high or 0.0) + 1e-9)
    return float(np.mean(hits))


@pytest.mark.parametrize("case", CASES)
def test_intervals_of_changes_hold(case: str) -> None:
    """Of 60 that hold with 95%, fewer than 80% are less likely than one in a million."""
    assert held(case, 4.0, 60, seed=1) >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 4.0, 8.0])
def test_two_thousand_unchanged_pairs(epsilon: float) -> None:
    share = claimed("range", epsilon, 2_000, seed=2)
    print(f"epsilon {epsilon}: p below 0.05 in {share:.2%}")
    assert 0.04 <= share <= 0.06


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 4.0, 8.0])
@pytest.mark.parametrize("case", CASES)
def test_many_changed_pairs(case: str, epsilon: float) -> None:
    share = held(case, epsilon, 500, seed=3)
    print(f"{case}, epsilon {epsilon}: {share:.2%} hold")
    assert share >= 0.93 - 2 * (0.93 * 0.07 / 500) ** 0.5
