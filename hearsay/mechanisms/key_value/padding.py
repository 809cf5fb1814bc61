"""Padding and sampling: a device pads its set to a public length l with dummy keys, and samples one pair of it.

A pair is sampled with probability at most 1/l. So randomised response over all keys may keep the sampled key more often
than epsilon alone would allow (privacy amplification by sampling). A set longer than l is not padded; its pairs are
estimated too small by the factor l/size. So an l that is too small costs bias, not privacy.
                                                              Wang, Li and Jha 2018; for pairs Gu et al. 2020 (PCKV)
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import Mechanism, State
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.guarantees.promises import Guarantee, PureLDP
from hearsay.mechanisms.key_value.domain import KeyValue
from hearsay.mechanisms.key_value.estimate import KeyEstimate, exact_keys
from hearsay.mechanisms.key_value.fieller import KeyScores
from hearsay.mechanisms.key_value.pairs import Pairs, plus_signs
from hearsay.mechanisms.options import Option, integer

PADDING: tuple[Option, ...] = (
    integer("padding", None, 1, 1 << 16, "length l that sets are padded to; where absent domain.pairs, else all keys"),
)


def padding_of(options: Mapping[str, Any], domain: KeyValue) -> int:
    """l: the survey's option, else the largest number of pairs of a device."""
    return int(options["padding"] or domain.pairs or domain.size)


def sample_padded(pairs: Pairs, length: int, keys: int, random: Random) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every device the sampled pair: its key (dummies from `keys` up), and its place in `pairs`, -1 for a dummy."""
    sizes = pairs.sizes
    drawn = random.below_each(np.maximum(sizes, length))
    real = drawn < sizes
    pair = np.where(real, pairs.starts[:-1] + drawn, -1)
    return np.where(real, pairs.key_at(pair), keys + drawn - sizes), pair


def padded_signs(
    pairs: Pairs, pair: NDArray[np.int64], dimension: NDArray[Any] | int, random: Random
) -> NDArray[np.bool_]:
    """The sampled pairs' values rounded to signs (true: plus); a dummy's value is 0."""
    values = pairs.value_at(pair, dimension) if pairs.values.shape[1] else np.zeros(len(pair))
    return plus_signs(values, random)


@dataclass(frozen=True)
class PaddedSets(Mechanism):
    """The common part of mechanisms whose devices sample one pair of a padded set."""

    domain: KeyValue

    def listed_values(self) -> Pairs:
        return self.domain.some_sets(2 if self.domain.dimensions else 1)

    def exact(self, values: Any) -> KeyEstimate:
        return exact_keys(self.domain, values)

    @property
    def length(self) -> int:
        """l."""
        return padding_of(self.options, self.domain)

    def canonical_options(self) -> dict[str, Any]:
        return {**self.options, "padding": self.length}


@dataclass(frozen=True)
class Padded(PaddedSets):
    """The common part of pckv-grr and pckv-ue: the estimate from how often reports name a key, and with which sign.

    Let y be the share of the n reports that name a key, x the share with + minus the share with -. The sampled key is
    named with probability a, any other key with b, and the sign of the sampled key is kept with p. With A = l/(a-b)
    (`scale`) and B = l/(a(2p-1)) (`gain`):
    f = A(y - b), f m = B x, n Var f = A^2 y(1-y), n Var f m = B^2(y - x^2), n Cov = A B x(1-y).
    """

    ESTIMATE: ClassVar[type[KeyEstimate]] = KeyEstimate
    EXCLUSIVE: ClassVar[bool] = False  # a report names one key at most

    @property
    def all_keys(self) -> int:
        """The number of keys and dummies."""
        return self.domain.size + self.length

    @property
    def dimensions(self) -> int:
        return max(self.domain.dimensions, 1)

    @property
    def signs(self) -> int:
        """The symbols of a key: two signs, or one for item sets."""
        return 2 if self.domain.dimensions else 1

    @property
    def guarantee(self) -> Guarantee:
        return PureLDP(self.epsilon)

    @abstractmethod
    def chances(self) -> tuple[float, float, float]:
        """a, b, p: the probabilities to name the sampled key, to name another key, and to keep a named key's sign."""

    @abstractmethod
    def named(self, state: State) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How often reports name each key, by key (without dummies), dimension and sign; and reports by dimension."""

    def estimate(self, state: State) -> KeyEstimate:
        counts, per_dimension = self.named(state)
        a, b, p = self.chances()
        n = int(per_dimension.sum())
        keep = self.domain.dimensions
        with np.errstate(divide="ignore", invalid="ignore"):
            y = counts.sum(axis=(1, 2)) / n
            scale = self.length / (a - b)
            share = scale * (y - b)
            likely = np.clip(y, b, b + (a - b) / self.length)
            share_variance = scale**2 * likely * (1 - likely) / n
            total = np.zeros((self.domain.size, keep))
            total_variance, covariance, x_hits = np.zeros_like(total), np.zeros_like(total), np.zeros_like(total)
            if keep:
                gain = self.length / (a * (2 * p - 1))
                x = (counts[:, :, 1] - counts[:, :, 0]) / per_dimension
                total = gain * x
                limit = np.clip(share, 0.0, 1.0)[:, None] / gain
                x = np.clip(x, -limit, limit)
                total_variance = gain**2 * (likely[:, None] - x**2) / per_dimension
                covariance = scale * gain * x * (1 - likely[:, None]) / n
                x_hits = gain * x
            # Devices with sets longer than l count less, so the share of holders is not known exactly: the variance
            # f(1-f)/n of the devices as a sample is not subtracted.
            return KeyEstimate(
                self.domain, n, share, np.sqrt(share_variance), total, share_variance, total_variance, covariance,
                hits=(np.broadcast_to((scale * likely)[:, None], x_hits.shape), x_hits) if self.EXCLUSIVE else None,
                scores=self._scores(per_dimension),
            )  # fmt: skip

    def _scores(self, per_dimension: NDArray[np.int64]) -> KeyScores:
        """For the symbols none, minus and plus of a key in a report; a holder samples the key with probability 1/l."""
        a, b, p = self.chances()
        channel = np.array([[1 - b, b / 2, b / 2], [1 - a, a * p, a * (1 - p)], [1 - a, a * (1 - p), a * p]])
        channel[1:] = channel[0] + (channel[1:] - channel[0]) / self.length
        scale, gain = self.length / (a - b), self.length / max(a * (2 * p - 1), 1e-300)
        phi, sigma = scale * (np.array([0.0, 1.0, 1.0]) - b), gain * np.array([0.0, -1.0, 1.0])
        keys, keep = self.domain.size, self.domain.dimensions
        reports = np.full(keys, float(per_dimension.sum()))
        each = np.tile(per_dimension[:keep].astype(np.float64), (keys, 1))
        return KeyScores.of(channel, phi, sigma, reports, each, excluded=scale * b if self.EXCLUSIVE else 0.0)

    @abstractmethod
    def set_channel(self, sampled: NDArray[np.float64]) -> NDArray[np.float64]:
        """P(report), from the probability of every (key, sign), dummies included, to be the sampled pair."""

    def channel(self) -> NDArray[np.float64]:
        """Rows: `domain.every_set` with signs for values."""
        sets = self.domain.every_set(self.signs)
        rows = []
        for number in range(len(sets)):
            one = sets[number : number + 1]
            length = max(self.length, len(one.keys))
            parts = []
            for dimension in range(self.dimensions):
                sampled = np.zeros((self.all_keys, self.signs))
                plus = one.values[:, dimension] > 0 if self.signs == 2 else np.zeros(len(one.keys), dtype=bool)
                sampled[one.keys, plus.astype(np.intp)] = 1 / length
                sampled[self.domain.size : self.domain.size + length - len(one.keys)] = 1 / (length * self.signs)
                parts.append(self.set_channel(sampled.reshape(-1)))
            rows.append(self._by_dimension(parts))
        return np.array(rows)

    def _by_dimension(self, parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        """In the order of the layout: the dimension is between key and sign, or before a vector of symbols."""
        if self.dimensions == 1:
            return parts[0]
        if self.layout.has_vectors:
            return np.concatenate(parts) / self.dimensions
        return np.stack([part.reshape(-1, self.signs) for part in parts], axis=1).reshape(-1) / self.dimensions

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """The errors of a rare key's share, and of the mean of a key that a quarter of the devices hold."""
        a, b, p = self.chances()
        scale = self.length / (a - b)
        errors = {"point": float(scale * np.sqrt(b * (1 - b) / reports))}
        if self.domain.dimensions:
            y = b + 0.25 / scale
            gain = self.length / (a * (2 * p - 1))
            errors["mean"] = float(gain * np.sqrt(y * self.dimensions / reports) / 0.25)
        return errors
