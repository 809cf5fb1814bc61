"""Unary encodings beyond the shared suite."""

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.exact.randomness import WORD, secure, seeded
from hearsay.mechanisms.oracles.unary import UnaryEncoding, set_bits


def unary(name: str, size: int, epsilon: float = 1.1) -> UnaryEncoding:
    mechanism = build({"mechanism": name, "epsilon": epsilon, "domain": {"kind": "categorical", "size": size}})
    assert isinstance(mechanism, UnaryEncoding)
    return mechanism


def test_oue_keeps_the_true_bit_by_a_fair_coin() -> None:
    assert unary("oue", 9).thresholds[0] * 2 == WORD


def test_sue_flips_every_bit_alike() -> None:
    yes, no = unary("sue", 9).thresholds
    assert yes + no == WORD


def test_only_the_true_bit_differs_between_values() -> None:
    """A client that keeps the true bit set twice, or perturbs one bit too few, fails here."""
    mechanism, draws = unary("oue", 67), 100_000
    p, q, _ = mechanism.hit_chances()
    bits = mechanism.perturb(np.full(draws, 66), secure())["bits"]
    share = np.unpackbits(bits, axis=1, count=67, bitorder="little").mean(axis=0)
    expected = np.full(67, q)
    expected[66] = p
    assert (np.abs(share - expected) < 6 * np.sqrt(expected * (1 - expected) / draws)).all()
    assert not (bits[:, -1] >> 3).any()


def test_set_bits_writes_both_values() -> None:
    packed = np.array([[0b1111_1111, 0], [0b0000_0000, 0b11]], dtype=np.uint8)
    set_bits(packed, np.array([3, 9]), np.array([False, True]))
    assert packed.tolist() == [[0b1111_0111, 0], [0, 0b11]]
    set_bits(packed, np.array([8, 9]), np.array([True, False]))
    assert packed.tolist() == [[0b1111_0111, 1], [0, 0b01]]


def test_a_domain_too_large_for_bits_is_refused_with_the_alternative() -> None:
    with pytest.raises(SpecificationError, match="at most 1048576 cells for oue, got 1048577; use olh or hrr"):
        unary("oue", (1 << 20) + 1)


def test_folding_wide_reports_counts_every_column() -> None:
    mechanism = unary("sue", 1000)
    bits = mechanism.perturb(np.arange(1000).repeat(3), seeded(4))["bits"]
    state = mechanism.fold(mechanism.empty(), {"bits": bits})
    expected = np.unpackbits(bits, axis=1, count=1000, bitorder="little").sum(axis=0, dtype=np.int64)
    np.testing.assert_array_equal(state["ones"], expected)
