"""PCKV-UE: pad and sample one pair, then report a noisy symbol of {none, -, +} for every key, in one round.

Device    Sample one pair of the set padded to l, and round its value to a sign. Report a symbol for each of the d + l
          keys, dummies included. The sampled key has its sign with probability a p, the other sign with a(1-p),
          otherwise none. Every other key has each sign with b/2, otherwise none.
Privacy   With e = exp(eps), a = 1/2, b = 2/(e+3) and p = e/(e+1) spend at most eps; tests enumerate all sets. Item sets
          have no sign, and b = 1/(e+1).
Estimate  As in `padding`. A report has d + l symbols, so this is for few keys. In experiments it was never clearly the
          best mechanism.
                                                                                      Gu et al. 2020
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.exact.randomness import WORD, Random
from hearsay.mechanisms.exact.thresholds import exponential, keep_threshold, log_ratio, probability, up
from hearsay.mechanisms.key_value.padding import PADDING, Padded, padded_signs, sample_padded
from hearsay.mechanisms.layout import Layout, Reports, Scalar, Vector, by_parts, length_of

MAXIMUM_SYMBOLS = 1 << 14


@dataclass(frozen=True)
class PckvUE(Padded):
    """A report has a symbol for every key: 0 none, 1 minus (or present), 2 plus."""

    ID = "pckv-ue"
    SUMMARY = "one pair of the padded set, a noisy symbol for every key; a comparator to pckv-grr"
    OPTIONS = PADDING
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {"epsilon": 1.0, "domain": {"kind": "key-value", "keys": 3}, "options": {"padding": 1}},
    )

    def check(self) -> None:
        if self.all_keys > MAXIMUM_SYMBOLS:
            raise SpecificationError(
                what="keys and padding", expected=f"at most {MAXIMUM_SYMBOLS} together for pckv-ue", got=self.all_keys
            )

    @cached_property
    def noise(self) -> int:
        """The chance b out of 2^64, rounded up, that a key that was not sampled has a symbol other than none."""
        e = exponential(self.epsilon)
        return up(2 / (e + 3) if self.signs == 2 else 1 / (e + 1))

    @cached_property
    def sign_keep(self) -> int:
        """The chance p out of 2^64 that the sampled key's sign is kept."""
        return keep_threshold(self.epsilon, 2) if self.signs == 2 else WORD

    def _exact(self) -> tuple[Fraction, Fraction, Fraction]:
        return Fraction(1, 2), probability(self.noise), probability(self.sign_keep)

    def chances(self) -> tuple[float, float, float]:
        a, b, p = self._exact()
        return float(a), float(b), float(p)

    @property
    def spent_epsilon(self) -> float:
        """The larger of two losses: if two sets sample different keys, or the same key with different signs."""
        a, b, p = self._exact()
        shown = a * p / (b / self.signs)
        return log_ratio(max(shown * (1 - b) / (1 - a), p / (1 - p) if p < 1 else Fraction(0)), Fraction(1))

    @cached_property
    def layout(self) -> Layout:
        chosen = (Scalar("dimension", self.dimensions),) if self.dimensions > 1 else ()
        return Layout.of(
            *chosen, vector=Vector("symbols" if self.signs == 2 else "bits", self.all_keys, self.signs + 1)
        )

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {"counts": (self.all_keys, self.dimensions, self.signs), "reports": (self.dimensions,)}

    def perturb(self, values: Any, random: Random) -> Reports:
        def draw(pairs: Any) -> Reports:
            n = len(pairs)
            dimension: Any = random.narrow_below(self.dimensions, n) if self.dimensions > 1 else 0
            key, pair = sample_padded(pairs, self.length, self.domain.size, random)
            shows = random.bernoulli(WORD // 2, n)
            plus = padded_signs(pairs, pair, dimension, random) == random.bernoulli(self.sign_keep, n)
            symbols = self._noise(n, random)
            symbols[np.arange(n), key] = shows * (1 + (plus if self.signs == 2 else 0))
            return self._packed(dimension, symbols)

        return by_parts(draw, self.domain.check(values))  # type: ignore[arg-type]

    def _noise(self, count: int, random: Random) -> NDArray[np.uint8]:
        width = self.all_keys
        shown = np.unpackbits(random.bits(self.noise, count, width), axis=1, count=width, bitorder="little")
        if self.signs == 1:
            return shown
        plus = np.unpackbits(random.bits(WORD // 2, count, width), axis=1, count=width, bitorder="little")
        return shown + (shown & plus)

    def _packed(self, dimension: Any, symbols: NDArray[np.uint8]) -> Reports:
        columns: Reports = {} if self.dimensions == 1 else {"dimension": dimension}
        if self.signs == 1:
            return {**columns, "bits": np.packbits(symbols, axis=1, bitorder="little")}
        return {**columns, "symbols": symbols.astype(np.uint8)}

    def fold(self, state: State, reports: Reports) -> State:
        dimension = reports.get("dimension", np.zeros(length_of(reports), dtype=np.uint8))
        state["reports"] += np.bincount(dimension, minlength=self.dimensions)
        for chosen in range(self.dimensions):
            in_dimension = dimension == chosen
            if self.signs == 1:
                bits = np.unpackbits(reports["bits"][in_dimension], axis=1, count=self.all_keys, bitorder="little")
                state["counts"][:, chosen, 0] += bits.sum(axis=0, dtype=np.int64)
                continue
            symbols = reports["symbols"][in_dimension]
            for sign in (1, 2):
                state["counts"][:, chosen, sign - 1] += (symbols == sign).sum(axis=0, dtype=np.int64)
        return state

    def reports(self, state: State) -> int:
        return int(state["reports"].sum())

    def named(self, state: State) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return state["counts"][: self.domain.size], state["reports"]

    def set_channel(self, sampled: NDArray[np.float64]) -> NDArray[np.float64]:
        """P(report) for all strings of symbols, from the probability of every (key, sign) to be the sampled pair."""
        a, b, p = self.chances()
        strings = self.layout.enumerate()
        if self.signs == 1:
            digits = np.unpackbits(strings["bits"], axis=1, count=self.all_keys, bitorder="little")
            of_other, of_sampled = np.array([1 - b, b]), np.array([[1 - a, a]])
        else:
            digits = strings["symbols"]
            of_other = np.array([1 - b, b / 2, b / 2])
            of_sampled = np.array([[1 - a, a * p, a * (1 - p)], [1 - a, a * (1 - p), a * p]])
        others = of_other[digits]
        all_others = others.prod(axis=1)
        total = np.zeros(len(digits))
        for symbol, chance in enumerate(sampled):
            key, sign = divmod(symbol, self.signs)
            total += chance * all_others / others[:, key] * of_sampled[sign][digits[:, key]]
        return total
