"""Mixed rows are the fractions that they stand for, rounded down to the last of 64 bits."""

from fractions import Fraction

import numpy as np
import pytest

from hearsay.mechanisms.exact import mixtures
from hearsay.mechanisms.exact.mixtures import Mixtures, Weights
from hearsay.mechanisms.exact.randomness import WORD


def plainly(rows: list[list[float]], part: Fraction) -> Weights:
    shares = [[Fraction(entry) / sum(map(Fraction, row)) for entry in row] for row in rows]
    average = [sum(column, Fraction(0)) / len(rows) for column in zip(*shares, strict=True)]
    result = []
    for row in shares:
        weights = [int(((1 - part) * share + part * mean) * WORD) for share, mean in zip(row, average, strict=True)]
        weights[weights.index(max(weights))] += WORD - sum(weights)
        result.append(tuple(weights))
    return tuple(result)


def drawn(seed: int) -> list[list[float]]:
    generator = np.random.default_rng(seed)
    shape = tuple(generator.integers(1, 6, 2))
    rows = generator.choice([0.0, 0.5, 0.25, 1 / 3, 1e-300, 5e-324, 1e-18, 0.1], shape) + (
        generator.random(shape) * (seed % 3 == 0)
    )
    rows[:, 0] += 0.25
    return rows.tolist()


@pytest.mark.parametrize("digits", [None, 58, 40, 20])
def test_against_plain_fractions(digits: int | None) -> None:
    part = Fraction(0) if digits is None else Fraction(1, 1 << digits)
    for seed in range(150):
        rows = drawn(seed)
        found = Mixtures(rows).weights(digits)
        assert found == plainly(rows, part)
        assert all(sum(row) == WORD for row in found)


def test_what_hangs_on_the_last_digit_is_worked_out_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """With so few bits that the cut-off part often decides."""
    monkeypatch.setattr(mixtures, "_FIXED_BITS", 66)
    for seed in range(60):
        rows = drawn(seed)
        assert Mixtures(rows).weights(20) == plainly(rows, Fraction(1, 1 << 20))
