"""Packing of symbols, against a literal one with Python's own integers."""

from math import log2

import numpy as np
import pytest

from hearsay.collector.wire.packing import Packing

ALPHABETS = [1, 2, 3, 4, 5, 6, 7, 10, 11, 100, 127, 128, 129, 255, 256, 257, 1_000, 65_535, 65_537, 2 * (2**20 - 1)]
ALPHABETS += [2**25 + 1, 2**32 - 1, 2**33 + 5, 2**40, 2**56 + 1, 2**57 - 1, 2**57]
COUNTS = [0, 1, 2, 3, 7, 8, 9, 64, 1_000]


def draw(alphabet: int, count: int) -> np.ndarray:
    symbols = np.random.default_rng(count).integers(0, alphabet, count, dtype=np.uint64)
    symbols[:1], symbols[-1:] = alphabet - 1, alphabet - 1  # the largest one, in the first and the last place
    return symbols


def literally(packing: Packing, symbols: list[int]) -> bytes:
    """Groups as digits of a number, numbers side by side from the lowest bit on."""
    everything = 0
    for number, start in enumerate(range(0, len(symbols), packing.group)):
        group = symbols[start : start + packing.group]
        joined = sum(symbol * packing.alphabet**place for place, symbol in enumerate(group))
        everything |= joined << number * packing.bits
    return everything.to_bytes(packing.size(len(symbols)), "little")


@pytest.mark.parametrize("alphabet", ALPHABETS)
@pytest.mark.parametrize("count", COUNTS)
def test_packing_is_the_literal_one_and_comes_back(alphabet: int, count: int) -> None:
    packing, symbols = Packing(alphabet), draw(alphabet, count)
    packed = packing.pack(symbols)
    assert packed == literally(packing, symbols.tolist())
    assert len(packed) == packing.size(count)
    np.testing.assert_array_equal(packing.unpack([packed], [count]), symbols)


@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_several_runs_are_read_one_after_the_other(alphabet: int) -> None:
    packing, runs = Packing(alphabet), [draw(alphabet, count) for count in (3, 1, 64, 0, 7, 1_000)]
    packed = [packing.pack(run) for run in runs]
    np.testing.assert_array_equal(packing.unpack(packed, [len(run) for run in runs]), np.concatenate(runs))


def test_no_alphabet_loses_more_than_four_percent() -> None:
    near_powers = [(1 << bits) + step for bits in range(2, 57) for step in (-1, 0, 1)]
    for alphabet in {*range(2, 3_000), *near_powers, *(int(2 ** (step / 7)) for step in range(7, 399))}:
        packing = Packing(alphabet)
        assert packing.bits <= 57
        assert packing.bits <= 1.04 * packing.group * log2(alphabet) + 1e-9, alphabet


def test_powers_of_two_lose_nothing_and_have_no_invalid_symbol() -> None:
    for bits in range(1, 58):
        packing = Packing(1 << bits)
        assert (packing.group, packing.bits, packing.exact) == (1, bits, True)
    assert not Packing(3).exact
    assert Packing(1).size(1_000) == 0


@pytest.mark.parametrize("alphabet", [3, 5, 6, 7, 11, 100, 255, 1_000, 65_537, 2**33 + 5, 2**57 - 1])
def test_damaged_symbols_come_out_outside_the_alphabet_and_leave_their_neighbours_alone(alphabet: int) -> None:
    packing, count = Packing(alphabet), 60
    symbols = draw(alphabet, count).tolist()
    number = int.from_bytes(packing.pack(np.array(symbols, dtype=np.uint64)), "little")
    damaged = 3
    number |= ((1 << packing.bits) - 1) << damaged * packing.bits  # no valid group has every bit set
    found = packing.unpack([number.to_bytes(packing.size(count), "little")], [count]).tolist()
    hit = range(damaged * packing.group, (damaged + 1) * packing.group)
    for place in range(count):
        if place in hit:
            assert found[place] >= alphabet
        else:
            assert found[place] == symbols[place]


def test_a_long_run_is_read_at_every_offset() -> None:
    for alphabet in (2**57, 2**57 - 1, 2**51, 2**9):
        packing, symbols = Packing(alphabet), draw(alphabet, 4_096)
        np.testing.assert_array_equal(packing.unpack([packing.pack(symbols)], [4_096]), symbols)
