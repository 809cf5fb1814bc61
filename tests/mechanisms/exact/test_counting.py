"""Counting: whichever way a batch is counted, every index counts once."""

import numpy as np
import pytest

from hearsay.mechanisms.exact.counting import add_signs, count_into


@pytest.mark.parametrize("reports", [0, 1, 40, 5_000])
def test_indices_are_counted(reports: int) -> None:
    indices = np.random.default_rng(1).integers(0, 300, size=reports).astype(np.uint16)
    counts = np.ones(1_000, dtype=np.int64)
    count_into(counts, indices)
    assert np.array_equal(counts, 1 + np.bincount(indices, minlength=1_000))


@pytest.mark.parametrize("characters", [[1, 4, 2], [4_096, 64, 8, 1], [2, 512, 16, 2_048, 4], [1 << 18, 1 << 9]])
@pytest.mark.parametrize("reports", [0, 1, 30, 2_000, 40_000])
def test_signs_reach_their_character(characters: list[int], reports: int) -> None:
    """Small and large levels in any order, against one addition after the other."""
    generator = np.random.default_rng(reports)
    level = generator.integers(0, len(characters), size=reports).astype(np.uint8)
    character = generator.integers(0, np.array(characters)[level])
    minus = generator.integers(0, 2, size=reports)
    sums, counts = ([np.full(K, 7, dtype=np.int64) for K in characters] for _ in range(2))
    expected_sums, expected_counts = ([array.copy() for array in arrays] for arrays in (sums, counts))
    for index, place, sign in zip(level.tolist(), character.tolist(), minus.tolist(), strict=True):
        expected_sums[index][place] += 1 - 2 * sign
        expected_counts[index][place] += 1
    add_signs(sums, counts, level, (2 * character + minus).astype(np.uint32))
    for found, expected in zip([*sums, *counts], [*expected_sums, *expected_counts], strict=True):
        assert np.array_equal(found, expected)


def test_a_level_without_reports_keeps_its_counters() -> None:
    sums, counts = ([np.zeros(size, dtype=np.int64) for size in (1 << 16, 2)] for _ in range(2))
    add_signs(sums, counts, np.ones(100, dtype=np.uint8), np.full(100, 3, dtype=np.uint32))
    assert sums[1].tolist() == [0, -100]
    assert counts[1].tolist() == [0, 100]
    assert not sums[0].any()
    assert not counts[0].any()
