"""Row 7: leaks that hid from an audit of six values in batches. All are caught."""

from dataclasses import dataclass

import numpy as np
import pytest

from hearsay.mechanisms import Mechanism
from hearsay.mechanisms.base import Values
from hearsay.mechanisms.exact.randomness import Random, seeded
from hearsay.mechanisms.layout import Reports
from hearsay.mechanisms.oracles.grr import GRR
from hearsay.mechanisms.oracles.linear_hashing import OLH
from hearsay.mechanisms.oracles.unary import OUE, set_bits
from hearsay.ops.audit.attack import Lengths
from hearsay.ops.audit.audit import Audit, audit

DRAWS = 4_000


def unpacked(reports: Reports) -> np.ndarray:
    return np.unpackbits(reports["bits"], axis=1, bitorder="little")


@dataclass(frozen=True)
class OneValueInClear(GRR):
    """Sends value 77 as it is; all other values are perturbed as they should be."""

    def perturb(self, values: Values, random: Random) -> Reports:
        cells = self.domain.flatten(values)
        reports = super().perturb(values, random)
        return {"value": np.where(cells == 77, 77, reports["value"]).astype(reports["value"].dtype)}


@dataclass(frozen=True)
class TwoBitsTogether(OUE):
    """Every bit has the right chance under every value, but under even ones the last two bits always agree."""

    def perturb(self, values: Values, random: Random) -> Reports:
        reports = super().perturb(values, random)
        cells, last = self.domain.flatten(values), self.domain.size - 1
        bits = unpacked(reports)
        agree = (cells % 2 == 0) & (cells < last - 1)
        set_bits(reports["bits"], np.full(cells.size, last), np.where(agree, bits[:, last - 1], bits[:, last]) == 1)
        return reports


@dataclass(frozen=True)
class TruthfulAlone(GRR):
    """Perturbs batches, but has a short cut for a single value that forgets to."""

    def perturb(self, values: Values, random: Random) -> Reports:
        cells = self.domain.flatten(values)
        reports = super().perturb(values, random)
        return {"value": cells.astype(reports["value"].dtype)} if cells.size == 1 else reports


@dataclass(frozen=True)
class OneValueTruthfulAlone(GRR):
    """The same short cut, taken for value 77 only."""

    def perturb(self, values: Values, random: Random) -> Reports:
        cells, reports = self.domain.flatten(values), super().perturb(values, random)
        return {"value": cells.astype(reports["value"].dtype)} if cells.tolist() == [77] else reports


@dataclass(frozen=True)
class TruthfulAloneInBits(OUE):
    """The same among bits, too many to list."""

    def perturb(self, values: Values, random: Random) -> Reports:
        cells, reports = self.domain.flatten(values), super().perturb(values, random)
        if cells.size == 1:
            reports["bits"][:] = 0
            set_bits(reports["bits"], cells, np.ones(1, dtype=bool))
        return reports


@dataclass(frozen=True)
class TellingLength(OLH):
    """Perturbs the bucket as it should, but the first half of the values draws vectors that take fewer bytes."""

    def perturb(self, values: Values, random: Random) -> Reports:
        cells, reports = self.domain.flatten(values), super().perturb(values, random)
        short = np.where(cells < self.domain.size // 2, reports["vector"] % 15, reports["vector"])
        honest = self.hashed(short.astype(np.uint32) + np.uint32(1), cells.astype(np.uint32))
        first = self.hashed(reports["vector"] + np.uint32(1), cells.astype(np.uint32))
        return {"vector": short.astype(np.uint32), "bucket": reports["bucket"] ^ first ^ honest}


def audited(mechanism: type[Mechanism], size: int) -> Audit:
    return audit(mechanism.over(size, 1.0), DRAWS, seeded(6))


def test_one_value_of_a_hundred_in_clear() -> None:
    result = audited(OneValueInClear, 100)
    assert not result.holds
    assert result.fit is not None
    assert result.fit.value == 77
    assert 77 not in {value for pair in result.pairs for value in (pair.one, pair.other)}  # no attack came upon it


def test_two_bits_that_say_together_what_none_says_alone() -> None:
    result = audited(TwoBitsTogether, 40)
    assert not result.holds
    assert result.worst.audited > 2.0
    assert result.worst.one % 2 != result.worst.other % 2


def test_the_two_bits_have_the_right_chances_each() -> None:
    """So that no look at single bits, however many, finds the mechanism above."""
    broken, honest = TwoBitsTogether.over(40, 1.0), OUE.over(40, 1.0)
    for value in (6, 7):
        rates = [
            unpacked(mechanism.perturb(np.full(40_000, value), seeded(seed))).mean(axis=0)
            for seed, mechanism in enumerate((broken, honest))
        ]
        assert np.abs(rates[0] - rates[1]).max() < 0.022  # six deviations


@pytest.mark.parametrize("mechanism", [TruthfulAlone, OneValueTruthfulAlone])
def test_the_truth_for_single_values_only(mechanism: type[Mechanism]) -> None:
    result = audited(mechanism, 100)
    assert not result.holds
    assert result.fit is not None
    assert result.fit.way == "single reports"


def test_the_truth_for_single_values_among_bits_that_cannot_be_listed() -> None:
    result = audited(TruthfulAloneInBits, 40)
    assert not result.holds
    assert result.fit is None


@pytest.mark.parametrize("size", [60, 900])
def test_a_length_that_tells(size: int) -> None:
    """Of 60 values the channel can be listed, of 900 it cannot: only the bytes' number is left."""
    result = audited(TellingLength, size)
    assert not result.holds
    assert (result.fit is None) == (size == 900)


def test_lengths_alone_show_a_leak() -> None:
    lengths = {0: np.full(200, 2), 1: np.full(200, 3)}
    assert Lengths(lengths, 200).shown(0, 1, 1e-5) > 2.0
    assert Lengths({0: lengths[0], 1: lengths[0]}, 200).shown(0, 1, 1e-5) == 0.0
