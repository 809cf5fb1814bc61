"""Padding and sampling: a device pads its set to a public length l with dummy keys and samples one pair of it.

Whether a key is among a device's pairs then shows with probability at most 1/l, which lets a response over all keys
keep the sampled one more often than epsilon alone would (privacy amplification by sampling). A set longer than l is
sampled from as it is, and its pairs count less, by l/size: the price of an l too small is a bias, not privacy.
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
    """l: what the survey says, else the most pairs that a device may hold."""
    return int(options["padding"] or domain.pairs or domain.size)


def sample_padded(pairs: Pairs, length: int, keys: int, random: Random) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every device the key of one pair (dummies from `keys` up) and its place, -1 for a dummy."""
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
    """What all mechanisms share whose devices sample one pair of a padded set."""

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
    """What pckv-grr and pckv-ue share: the estimate from how often a key was named, and with which sign.

    With y the share of reports that name a key, x the balance of its signs, A = l/(a-b), B = l/(a(2p-1)):
    f = A(y - b), f m = B x, n Var f = A^2 y(1-y), n Var f m = B^2(y - x^2), n Cov = A B x(1-y).
    """

    ESTIMATE: ClassVar[type[KeyEstimate]] = KeyEstimate
    EXCLUSIVE: ClassVar[bool] = False  # a report names one key at most

    @property
    def all_keys(self) -> int:
        """Keys and dummies."""
        return self.domain.size + self.length

    @property
    def dimensions(self) -> int:
        return max(self.domain.dimensions, 1)

    @property
    def signs(self) -> int:
        """Symbols a key: two signs, or one for item sets."""
        return 2 if self.domain.dimensions else 1

    @property
    def guarantee(self) -> Guarantee:
        return PureLDP(self.epsilon)

    @abstractmethod
    def chances(self) -> tuple[float, float, float]:
        """a, b, p: the sampled key stays, another key appears, a kept key's sign is kept."""

    @abstractmethod
    def named(self, state: State) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Counts by real key, dimension and sign; and the reports of each dimension."""

    def estimate(self, state: State) -> KeyEstimate:
        counts, per_dimension = self.named(state)
        a, b, p = self.chances()
        n = int(per_dimension.sum())
        keep = self.domain.dimensions
        with np.errstate(divide="ignore", invalid="ignore"):
            y = counts.sum(axis=(1, 2)) / n
            share = self.length / (a - b) * (y - b)
            likely = np.clip(y, b, b + (a - b) / self.length)
            scale = self.length / (a - b)
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
            # Devices whose sets are longer than l count for less than one: then the share of holders is not known so
            # well that their own spread could be taken off.
            return KeyEstimate(
                self.domain, n, share, np.sqrt(share_variance), total, share_variance, total_variance, covariance,
                hits=(np.broadcast_to((scale * likely)[:, None], x_hits.shape), x_hits) if self.EXCLUSIVE else None,
                scores=self._scores(per_dimension),
            )  # fmt: skip

    def _scores(self, per_dimension: NDArray[np.int64]) -> KeyScores:
        """Of the symbols none, minus and plus that a report shows of a key; its holder samples it with chance 1/l."""
        a, b, p = self.chances()
        quiet, true, false = [1 - b, b / 2, b / 2], [1 - a, a * p, a * (1 - p)], [1 - a, a * (1 - p), a * p]
        channel = np.array([quiet, true, false])
        channel[1:] = channel[0] + (channel[1:] - channel[0]) / self.length
        scale, gain = self.length / (a - b), self.length / max(a * (2 * p - 1), 1e-300)
        phi, sigma = scale * (np.array([0.0, 1.0, 1.0]) - b), gain * np.array([0.0, -1.0, 1.0])
        keys, keep = self.domain.size, self.domain.dimensions
        reports = np.full(keys, float(per_dimension.sum()))
        each = np.tile(per_dimension[:keep].astype(np.float64), (keys, 1))
        return KeyScores.of(channel, phi, sigma, reports, each, excluded=scale * b if self.EXCLUSIVE else 0.0)

    @abstractmethod
    def set_channel(self, sampled: NDArray[np.float64]) -> NDArray[np.float64]:
        """P(report) from the chance of every (key, sign), dummies included, to be the sampled pair."""

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
        """In the layout's order: the dimension stands between key and sign, or before a vector of symbols."""
        if self.dimensions == 1:
            return parts[0]
        if self.layout.has_vectors:
            return np.concatenate(parts) / self.dimensions
        return np.stack([part.reshape(-1, self.signs) for part in parts], axis=1).reshape(-1) / self.dimensions

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """Of a key that few hold, and of its holders' mean where a quarter of the devices hold it."""
        a, b, p = self.chances()
        scale = self.length / (a - b)
        errors = {"point": float(scale * np.sqrt(b * (1 - b) / reports))}
        if self.domain.dimensions:
            y = b + 0.25 / scale
            gain = self.length / (a * (2 * p - 1))
            errors["mean"] = float(gain * np.sqrt(y * self.dimensions / reports) / 0.25)
        return errors
