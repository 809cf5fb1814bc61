"""Uniform subsets: the right size, never the forbidden cell, all equally likely."""

from math import comb

import numpy as np
import pytest
from scipy import stats

from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.exact.subsets import uniform_subsets
from hearsay.mechanisms.oracles.unary import set_bits


def unpacked(packed: np.ndarray, width: int) -> np.ndarray:
    return np.unpackbits(packed, axis=1, count=width, bitorder="little").astype(bool)


@pytest.mark.parametrize(
    ("width", "size"), [(2, 0), (8, 0), (9, 7), (64, 16), (64, 62), (65, 20), (300, 1), (1000, 400)]
)
def test_size_and_forbidden_cell(width: int, size: int) -> None:
    without = np.arange(3000) % width
    bits = unpacked(uniform_subsets(size, width, without, seeded(1))[0], width)
    assert (bits.sum(axis=1) == size).all()
    assert not bits[np.arange(3000), without].any()


@pytest.mark.parametrize(("width", "size"), [(2, 0), (9, 7), (64, 16), (65, 20), (300, 1), (1000, 400)])
def test_one_more_cell_is_neither_in_the_subset_nor_forbidden_and_any_other_is_as_likely(width: int, size: int) -> None:
    draws, own = 40_000, width // 3
    packed, more = uniform_subsets(size, width, np.full(draws, own), seeded(5))
    assert not unpacked(packed, width)[np.arange(draws), more].any()
    counts = np.bincount(more, minlength=width)
    assert counts[own] == 0
    assert width == 2 or stats.chisquare(np.delete(counts, own)).pvalue > 1e-6


@pytest.mark.parametrize(("width", "size"), [(6, 2), (7, 3), (9, 6)])
def test_all_subsets_with_one_more_cell_are_equally_likely(width: int, size: int) -> None:
    draws = 60_000
    packed, more = uniform_subsets(size - 1, width, np.full(draws, 2), seeded(3))
    set_bits(packed, more, np.ones(draws, dtype=bool))
    codes = packed[:, 0] + (packed[:, 1].astype(int) << 8 if packed.shape[1] > 1 else 0)
    _, counts = np.unique(codes, return_counts=True)
    assert counts.size == comb(width - 1, size)
    assert stats.chisquare(counts).pvalue > 1e-6


def test_cells_of_wide_subsets_are_equally_likely_alone_and_in_pairs() -> None:
    draws, width, size = 40_000, 150, 50
    bits = unpacked(uniform_subsets(size, width, np.full(draws, 149), seeded(4))[0], width)[:, :149]
    together = bits.astype(np.float32).T @ bits.astype(np.float32) / draws
    expected = np.full((149, 149), size * (size - 1) / (149 * 148))
    np.fill_diagonal(expected, size / 149)
    bound = stats.norm.isf(0.5e-6 / expected.size)
    assert (np.abs(together - expected) < bound * np.sqrt(expected * (1 - expected) / draws)).all()
