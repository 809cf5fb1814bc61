"""The Haar wavelet released by signed Hadamard randomised response.

Device    D padded to 2^h. Draw a level l of 1..h; the value v lies in node u = v >> l, of 2^l cells, in its left half
          (sign +1) or its right half (-1). Draw one of the K = 2^(h-l) characters of the level, coefficient 0 too since
          the vector is signed, and report it with sign x character(u) flipped with probability 1/(e^eps + 1).
Privacy   Level and character are independent of the value; the sign has probability p or 1 - p, ratio at most e^eps.
Fold      sum[level][alpha] += sign, count[level][alpha] += 1.
Estimate  theta = sum/(norm c), c = 2p - 1, d = WHT(theta)/K is left half less right half; left = (f + d)/2 and
          right = (f - d)/2 from the root f = 1 down. The norm is lambda = n_l/K below 20, else each own count.
Variance  A range has coefficient (overlap with left - overlap with right)/size at a node, so non-zero at the two nodes
          a level that it cuts. With weights w there and T = WHT(theta^2), K sum of w^^2 theta^2 = sum of pairs
          w_u w_v T(u xor v)/K, and a level's term is [sum w^2/c^2 - that](1 + 1/lambda)/n_l; with the expected count
          [sum w^2/c^2 - (sum w d)^2]/n_l. All levels share -f(R)(1 - f(R))/n. Kulkarni 5.5; docs/explanation/ranges.md
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import ANSWER, PUBLIC, State, Streams, Values
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.intervals import least_explained
from hearsay.mechanisms.estimates.ranges import middle_half
from hearsay.mechanisms.exact.counting import add_signs
from hearsay.mechanisms.exact.hadamard import parity, power_of_two_at_least, walsh_hadamard
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.exact.thresholds import probability
from hearsay.mechanisms.layout import Layout, Reports, Scalar, smallest_unsigned
from hearsay.mechanisms.oracles.flipped_sign import FlippedSign
from hearsay.mechanisms.oracles.linear_hashing import OWN_COUNT_FROM
from hearsay.mechanisms.portable import Node, haar_sign, level_choice, part
from hearsay.mechanisms.ranges.advice import isotonic_advice
from hearsay.mechanisms.ranges.haar.estimate import NEGLIGIBLE, HaarEstimate, HaarLevel
from hearsay.mechanisms.ranges.hierarchical.tree import UNKNOWN
from hearsay.mechanisms.ranges.levels import cumulative_thresholds, probabilities


@dataclass(frozen=True)
class Haar(FlippedSign):
    """Ranges and quantiles from wavelet coefficients."""

    ESTIMATE: ClassVar[type[CellEstimate]] = HaarEstimate
    ID = "haar"
    SAMPLES = True
    SUMMARY = "ranges and quantiles: Haar wavelet, a few bytes a report"
    EXAMPLES = (
        {"epsilon": 1.1, "domain": {"kind": "ordinal", "size": 8}},
        {"epsilon": 0.6, "domain": {"kind": "ordinal", "size": 5}},
        {"epsilon": 2.0, "domain": {"kind": "ordinal", "low": -1.0, "high": 1.0, "bins": 16}},
    )

    def advice(self, postprocess: str = "none") -> list[str]:
        return isotonic_advice(self.domain, postprocess)

    @cached_property
    def height(self) -> int:
        """h: how many levels there are."""
        return power_of_two_at_least(self.domain.size).bit_length() - 1

    @cached_property
    def nodes(self) -> list[int]:
        """K of level 1..h."""
        return [1 << (self.height - level) for level in range(1, self.height + 1)]

    @cached_property
    def _thresholds(self) -> NDArray[np.uint64]:
        return cumulative_thresholds([Fraction(1)] * self.height)

    @cached_property
    def layout(self) -> Layout:
        return Layout.choice("level", tuple(Layout.of(Scalar("character", K), Scalar("minus", 2)) for K in self.nodes))

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {f"{level}/{name}": (K,) for level, K in enumerate(self.nodes, start=1) for name in ("sum", "count")}

    def perturb(self, values: Values, random: Random) -> Reports:
        cells = self.domain.flatten(values).astype(np.uint64)
        index, character = self._public(cells.size, random)
        minus = self._sign(cells, index, character) ^ random.bernoulli(self.flip, cells.size)
        return self._report(index, character, minus)

    @property
    def memoised_buckets(self) -> int:
        return 2

    def perturb_memoised(self, values: Values, stream: Streams) -> Reports:
        cells = self.domain.flatten(values).astype(np.uint64)
        index, character = self._public(1, stream(PUBLIC))
        sign = self._sign(cells, index, character)
        minus = sign ^ stream(f"{ANSWER} {sign[0]}").bernoulli(self.flip, 1)
        return self._report(index, character, minus)

    def _public(self, count: int, random: Random) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
        """Level and character, drawn without looking at a value."""
        index = random.choose(self._thresholds, count)
        # K is a power of two, so a masked word is uniform below it.
        return index, random.words(count) & np.array(self.nodes, dtype=np.uint64)[index] - np.uint64(1)

    def _sign(
        self, cells: NDArray[np.uint64], index: NDArray[np.intp], character: NDArray[np.uint64]
    ) -> NDArray[np.uint64]:
        """Whether the sign of each cell is minus, as 0 or 1."""
        node = cells >> (index + 1).astype(np.uint64)
        right_half = (cells >> index.astype(np.uint64)) & np.uint64(1)
        return right_half ^ parity(node & character)

    def _report(self, index: NDArray[np.intp], character: NDArray[np.uint64], minus: NDArray[np.uint64]) -> Reports:
        return {
            "level": index.astype(smallest_unsigned(self.height)),
            "symbol": (character << np.uint64(1) | minus).astype(smallest_unsigned(2 * self.nodes[0])),
        }

    def portable(self) -> Node:
        parts = [part(haar_sign(K, self.flip), 1 << index) for index, K in enumerate(self.nodes)]
        return level_choice(self._thresholds, parts)

    def fold(self, state: State, reports: Reports) -> State:
        levels = range(1, self.height + 1)
        sums, counts = ([state[f"{level}/{name}"] for level in levels] for name in ("sum", "count"))
        add_signs(sums, counts, reports["level"], reports["symbol"])
        return state

    def reports(self, state: State) -> int:
        return sum(int(state[f"{level}/count"].sum()) for level in range(1, self.height + 1))

    def estimate(self, state: State) -> CellEstimate:
        levels = tuple(self._level(state, level) for level in range(1, self.height + 1))
        return HaarEstimate.of(self.domain, self.reports(state), levels, self.correlation)

    def _level(self, state: State, level: int) -> HaarLevel:
        """Differences of one level, and what their noise is made of."""
        K, total, count = self.nodes[level - 1], state[f"{level}/sum"], state[f"{level}/count"]
        n = int(count.sum())
        if n == 0:
            return HaarLevel(np.zeros(K), UNKNOWN, None)
        expected, c = n / K, self.correlation
        if expected < OWN_COUNT_FROM:
            d = walsh_hadamard(total / (expected * c)) / K
            most = least_explained(max(float(d.max()), -float(d.min())) ** 2, n, 1 / c**2)
            return HaarLevel(d, 1 / (n * c * c), None, n if c * c * most > NEGLIGIBLE else 0)
        theta = total / (np.maximum(count, 1) * c)
        noise = (1 + 1 / expected) / n
        return HaarLevel(walsh_hadamard(theta) / K, noise / (c * c), self._explained(theta, n) * noise)

    def _explained(self, theta: Floats, reports: int) -> Floats:
        """T/K = WHT(theta^2)/K, with the noise in theta taken out; no pair explains more than a node with itself."""
        expected = reports / theta.size
        noise = 1 / (self.correlation**2 * expected)
        explained = walsh_hadamard((theta**2 - noise) / (1 - 1 / expected)) / theta.size
        limit = float(least_explained(float(explained[0]), reports, 1 / self.correlation**2))
        return np.clip(explained, -limit, limit)

    def report_spans(self) -> dict[str, float]:
        """A report adds sign x character x weight/(share of its level x c) at the nodes that a range cuts.

        A cut after o of a node's s cells has weight min(o, s - o)/s. Some character has the signs of both cuts.
        """
        spans = {"point": 0.0, "range": 0.0}
        x, y = middle_half(self.domain.size)
        for level, share in enumerate(probabilities(self._thresholds), start=1):
            size, scale = 1 << level, 2 / (float(share) * self.correlation)
            left, right = (min(end & size - 1, -end & size - 1) / size for end in (x, y))
            cuts = abs(left - right) if x >> level == y >> level else left + right
            spans["point"] = max(spans["point"], scale / size)
            spans["range"] = max(spans["range"], scale * cuts)
        return spans

    @property
    def raised_norms(self) -> float:
        return 1 + self.correlation

    def channel(self) -> NDArray[np.float64]:
        cells = np.arange(self.domain.size)
        q = float(probability(self.flip))
        parts = []
        for level, (share, K) in enumerate(zip(probabilities(self._thresholds), self.nodes, strict=True), start=1):
            minus = parity((cells >> level)[:, None] & np.arange(K)[None, :]) ^ (cells >> (level - 1) & 1)[:, None]
            signs = np.stack([np.where(minus, q, 1 - q), np.where(minus, 1 - q, q)], axis=2)
            parts.append(share / K * signs.reshape(cells.size, 2 * K))
        return np.concatenate(parts, axis=1)

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """For evenly filled cells; `range` is the root mean square over all ranges.

        A cut of a node of s cells leaves a coefficient min(o, s - o)/s, with o any of 0..s-1: 1/4 on average, and
        1/12 + 1/(6 s^2) when squared. Two cuts a range.
        """
        per_level = self.height / (reports * self.correlation**2)
        sizes = 4.0 ** np.arange(1, self.height + 1)
        f = 1 / self.domain.size
        point = per_level * (1 / sizes).sum() - f * (1 - f) / reports
        squares = 1 / 12 + 1 / (6 * sizes)
        total = per_level * 2 * float((squares - (1 / 4) ** 2 / np.array(self.nodes)).sum())
        return {"point": float(np.sqrt(max(point, 0.0))), "range": float(np.sqrt(total))}
