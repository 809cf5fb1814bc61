"""Older methods that the paper compares with, for the experiments only.

k-RR, RAPPOR and SHist answer for one sampled key: its name where the device holds it, else "absent". (The paper's
versions skip absent keys, which shows that a device holds something: that is no local differential privacy.)
Harmony puts n/d in the place of the number of reports that a key really got, and cuts nothing off.
MeanEst answers for all keys at once: a vector of signs in the half space of the device's own.
"""

from dataclasses import dataclass
from functools import cached_property
from math import comb, tanh

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import CellMechanism
from hearsay.mechanisms.exact.randomness import Random, seeded
from hearsay.mechanisms.exact.thresholds import keep_threshold, probability
from hearsay.mechanisms.key_value.calibration import Seen
from hearsay.mechanisms.key_value.simulated.laws import PairLaw
from hearsay.mechanisms.oracles.grr import GRR
from hearsay.mechanisms.oracles.rappor import RAPPOR
from hearsay.mechanisms.oracles.shist import SHist

Floats = NDArray[np.float64]
RAPPOR_OPTIONS = {"bits": 64, "hashes": 2, "cohorts": 16}
ORACLES: dict[str, type[CellMechanism]] = {"k-RR": GRR, "RAPPOR": RAPPOR, "SHist": SHist}


def over_keys(name: str, keys: int, epsilon: float) -> CellMechanism:
    """An oracle over the keys and "absent"."""
    return ORACLES[name].over(keys + 1, epsilon, **(RAPPOR_OPTIONS if name == "RAPPOR" else {}))


def sampled_oracle(name: str, law: PairLaw, reports: int, epsilon: float, generator: np.random.Generator) -> Floats:
    """Shares of holders by an oracle over the keys and "absent"."""
    keys = len(law.share)
    oracle = over_keys(name, keys, epsilon)
    counts = generator.multinomial(reports, np.append(law.share / keys, 1 - law.share.mean()))
    random = seeded(int(generator.integers(1 << 62)))
    cells = np.repeat(np.arange(keys + 1), counts)
    state = oracle.fold(oracle.empty(), oracle.perturb(cells, random))
    shares: Floats = keys * oracle.estimate(state).estimate.reshape(-1)[:keys]
    return shares


def harmony_mean(seen: Seen, gain: float, reports: int) -> Floats:
    """The mean that Harmony's scaling by the number of keys gives, from the same reports as PrivKV's."""
    expected = reports / len(seen.reports)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(seen.balance * seen.reports / (expected * gain * seen.present))


@dataclass(frozen=True)
class MeanEst:
    """Means of several numbers at once (Duchi, Jordan and Wainwright 2014), each in -1..1."""

    dimensions: int
    epsilon: float

    @cached_property
    def keep(self) -> int:
        """Chance out of 2^64 of the half space that the signs really lie in."""
        return keep_threshold(self.epsilon, 2)

    @cached_property
    def agreement(self) -> float:
        """Mean product of a coordinate of a vector in the half space with the device's own sign there.

        A vector on the border, where the number of coordinates is even, lies half in either. (To count it in both,
        as published, spends more than epsilon: 1.31 instead of 1 for four coordinates.)
        """
        d = self.dimensions
        return float(sum(2 * (2 * ups - d) * comb(d, ups) for ups in range(d + 1) if 2 * ups > d) / (d * 2**d))

    @cached_property
    def scale(self) -> float:
        """B: what a sign of the report is worth."""
        return 1 / ((2 * float(probability(self.keep)) - 1) * self.agreement)

    def perturb(self, values: Floats, random: Random) -> NDArray[np.int8]:
        """A vector of signs for every row."""
        own = np.where(random.lanes(32, values.size).reshape(values.shape) < (values + 1) * 2.0**31, 1, -1)
        drawn = np.where(random.lanes(8, values.size).reshape(values.shape) & 1, 1, -1)
        drawn = np.where((drawn * own).sum(axis=1, keepdims=True) < 0, -drawn, drawn)
        return np.where(random.bernoulli(self.keep, len(values))[:, None], drawn, -drawn).astype(np.int8)

    def estimate(self, reports: NDArray[np.int8]) -> Floats:
        """The mean of every number."""
        means: Floats = self.scale * reports.mean(axis=0)
        return means

    def draw_means(self, true: Floats, reports: Floats, generator: np.random.Generator) -> Floats:
        """Means from their law for many reports of each key: normal, with deviation B/sqrt(n)."""
        return true + generator.normal(0.0, self.scale / np.sqrt(reports), len(true))


def gain(epsilon: float) -> float:
    """c of a coin with this epsilon."""
    return tanh(epsilon / 2)
