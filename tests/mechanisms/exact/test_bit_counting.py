"""Counting set bits by carry-save addition gives what unpacking and summing gives."""

import numpy as np
import pytest

from hearsay.mechanisms.exact.bit_counting import count_bits


@pytest.mark.parametrize(("rows", "width"), [(0, 9), (1, 1), (2, 8), (3, 17), (700, 63), (40_000, 3), (30_001, 1000)])
def test_count_bits_equals_the_plain_sum(rows: int, width: int) -> None:
    bits = (np.random.default_rng(5).random((rows, width)) < 0.3).astype(np.uint8)
    packed = np.packbits(bits, axis=1, bitorder="little")
    np.testing.assert_array_equal(count_bits(packed, width), bits.sum(axis=0, dtype=np.int64))
