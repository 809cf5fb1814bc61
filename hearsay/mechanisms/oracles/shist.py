"""SHist: one random projection of the value, one bit per report (the frequency oracle of succinct histograms).

Device    A random row j of a public m x D matrix of signs; the entry at the value, flipped with 1/(e^eps + 1).
Privacy   j is independent of the value; the sign has ratio at most e^eps.
Fold      sum[j] += sign.
Estimate  f_x = sum_j matrix[j, x] sum[j]/(n c).
Variance  (1/c^2 - f)/n. The matrix is random but fixed: columns are only nearly orthogonal, and an error of about
          sqrt(sum f^2/m) stays. With rows of a Hadamard matrix it would vanish: that is hrr.
                                                                       Bassily and Smith 2015; a comparator
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State, Values
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.counting import count_into
from hearsay.mechanisms.exact.public_hash import others_squared, split_mixed
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.exact.thresholds import probability
from hearsay.mechanisms.layout import Layout, Reports, Scalar, by_parts
from hearsay.mechanisms.options import integer
from hearsay.mechanisms.oracles.flipped_sign import FlippedSign
from hearsay.mechanisms.oracles.oracle import standard_errors

_ENTRIES_AT_ONCE = 1 << 20


def sign_bits(seed: int, rows: NDArray[Any], cells: NDArray[Any]) -> NDArray[np.uint8]:
    """The matrix's entries as bits (1 stands for -1), by broadcasting: the top bit of a mixed 64-bit counter."""
    mixed = (rows.astype(np.uint64) << np.uint64(32)) ^ cells.astype(np.uint64)
    mixed = split_mixed((mixed + np.uint64(seed) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))
    return (mixed >> np.uint64(63)).astype(np.uint8)


@dataclass(frozen=True)
class SHist(FlippedSign):
    """A bit of a random projection."""

    ID = "shist"
    SUMMARY = "one bit of a fixed random projection; an error floor from columns that are not orthogonal; a comparator"
    ERROR_FLOOR = "columns of the fixed random matrix are not quite orthogonal"
    OPTIONS = (
        integer("rows", 4096, 1, 1 << 24, "rows of the random matrix"),
        integer("seed", 0, 0, 2**31, "public seed of the matrix"),
    )
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {"epsilon": 1.0, "domain": {"kind": "categorical", "size": 6}, "options": {"rows": 64}},
    )

    @property
    def rows(self) -> int:
        """m."""
        return int(self.options["rows"])

    def signs(self, rows: NDArray[Any], cells: NDArray[Any]) -> NDArray[np.uint8]:
        """Entries of the matrix as bits."""
        return sign_bits(int(self.options["seed"]), rows, cells)

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(Scalar("row", self.rows), Scalar("sign", 2))

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {"sum": (self.rows,), "reports": (1,)}

    def perturb(self, values: Values, random: Random) -> Reports:
        def draw(cells: NDArray[np.int64]) -> Reports:
            row = random.narrow_below(self.rows, cells.size).astype(np.uint32)
            sign = self.signs(row, cells) ^ random.bernoulli(self.flip, cells.size)
            return {"row": row, "sign": sign.astype(np.uint8)}

        return by_parts(draw, self.domain.flatten(values))

    def fold(self, state: State, reports: Reports) -> State:
        signs = np.zeros(2 * self.rows, dtype=np.int64)
        count_into(signs, reports["row"].astype(np.int64) + self.rows * reports["sign"].astype(np.int64))
        state["sum"] += signs[: self.rows] - signs[self.rows :]
        state["reports"] += len(reports["row"])
        return state

    def reports(self, state: State) -> int:
        return int(state["reports"][0])

    def estimate(self, state: State) -> CellEstimate:
        n = self.reports(state)
        total = np.zeros(self.domain.size)
        at_once = max(1, _ENTRIES_AT_ONCE // self.domain.size)
        cells = np.arange(self.domain.size)
        for start in range(0, self.rows, at_once):
            rows = np.arange(start, min(start + at_once, self.rows))
            entries = 1.0 - 2.0 * self.signs(rows[:, None], cells[None, :])
            total += state["sum"][rows] @ entries
        f = total / (max(n, 1) * self.correlation)
        stderr = standard_errors(self._variance(f, n), n)
        return CellEstimate(self.domain, n, f.reshape(self.domain.shape), stderr.reshape(self.domain.shape))

    def _variance(self, f: Floats, reports: int) -> Floats:
        """n Var, with the floor over a random choice of the matrix; for a given one it is a bias that stays."""
        noise = 1 / self.correlation**2 - np.clip(f, 0.0, 1.0)
        return noise + reports * others_squared(f, noise / max(reports, 1)) / self.rows

    def channel(self) -> NDArray[np.float64]:
        q = float(probability(self.flip))
        listed = self.layout.enumerate()
        honest = self.signs(listed["row"][None, :], np.arange(self.domain.size)[:, None])
        return np.where(honest == listed["sign"], 1 - q, q) / self.rows

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        even = np.full(self.domain.size, 1 / self.domain.size)
        return {"point": float(np.sqrt(self._variance(even, reports)[0] / reports))}
