"""Apple's Hadamard count-mean sketch: the sign of one Hadamard character at the hashed value, one bit per report.

Device    Draw a hash j of k and a character l of m, both uniformly; send them with the sign of character l at h_j(x),
          flipped with probability 1/(e^eps + 1). The bit 0 is the sign +, 1 is -.
Privacy   j and l are independent of the value; the sign has ratio at most e^eps.
Fold      sum[j, l] += sign.
Estimate  f = (sum_j WHT(sum[j])[h_j(x)]/(n c) - 1/m) m/(m-1), where c = 1 - 2/(e^eps + 1) is the mean of a sign that
          was flipped so. Subtracting 1/m corrects for values that share a bucket, on average over all hashes.
Variance  (m/(m-1))^2 (1/c^2 - f)/n. The hashes are fixed, so the same values always collide: an error floor of about
          sqrt(sum f^2/(k m)) that more reports do not lower.            Apple 2017; Kulkarni 4.4.6; a comparator
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State, Values
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.counting import count_into
from hearsay.mechanisms.exact.hadamard import parity, walsh_hadamard
from hearsay.mechanisms.exact.public_hash import coefficients, hashed, others_squared
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.exact.thresholds import probability
from hearsay.mechanisms.layout import Layout, Reports, Scalar, by_parts
from hearsay.mechanisms.options import integer
from hearsay.mechanisms.oracles.flipped_sign import FlippedSign
from hearsay.mechanisms.oracles.oracle import standard_errors


@dataclass(frozen=True)
class CountMeanSketch(FlippedSign):
    """A sketch of k rows and m columns, read through its Hadamard transform."""

    ID = "count-mean-sketch"
    SUMMARY = "Apple's Hadamard count-mean sketch: fixed hashes, an error floor from collisions; a comparator"
    ERROR_FLOOR = "values that share a bucket of a fixed hash stay mixed"
    OPTIONS = (
        integer("hashes", 256, 1, 1 << 16, "rows of the sketch"),
        integer("width", 1024, 2, 1 << 20, "columns of the sketch, a power of two"),
        integer("seed", 0, 0, 2**31, "public seed of the hashes"),
    )
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {"epsilon": 1.0, "domain": {"kind": "categorical", "size": 6}, "options": {"hashes": 8, "width": 16}},
    )

    def check(self) -> None:
        if self.width & (self.width - 1):
            raise SpecificationError(what="options.width", expected="a power of two", got=self.width)

    @property
    def hashes(self) -> int:
        """k."""
        return int(self.options["hashes"])

    @property
    def width(self) -> int:
        """m."""
        return int(self.options["width"])

    @cached_property
    def _functions(self) -> NDArray[np.uint64]:
        return coefficients(self.options["seed"], self.hashes)

    def buckets(self, rows: NDArray[Any], cells: NDArray[Any]) -> NDArray[np.uint64]:
        """h_j(x), by the usual rules of broadcasting."""
        return hashed(self._functions[rows], cells.astype(np.uint64), self.width)

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(Scalar("row", self.hashes), Scalar("character", self.width), Scalar("sign", 2))

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {"sum": (self.hashes, self.width), "reports": (1,)}

    def perturb(self, values: Values, random: Random) -> Reports:
        def draw(cells: NDArray[np.int64]) -> Reports:
            row = random.narrow_below(self.hashes, cells.size).astype(np.uint32)
            character = random.narrow_below(self.width, cells.size).astype(np.uint32)
            sign = parity(self.buckets(row, cells) & character) ^ random.bernoulli(self.flip, cells.size)
            return {"row": row, "character": character, "sign": sign.astype(np.uint8)}

        return by_parts(draw, self.domain.flatten(values))

    def fold(self, state: State, reports: Reports) -> State:
        size = self.hashes * self.width
        counts = np.zeros(2 * size, dtype=np.int64)  # of reports with sign +, then of those with -
        counter = reports["row"].astype(np.int64) * self.width + reports["character"]
        count_into(counts, counter + size * reports["sign"].astype(np.int64))
        state["sum"] += (counts[:size] - counts[size:]).reshape(self.hashes, self.width)
        state["reports"] += len(counter)
        return state

    def reports(self, state: State) -> int:
        return int(state["reports"][0])

    def estimate(self, state: State) -> CellEstimate:
        n, m = self.reports(state), self.width
        sketch = walsh_hadamard(state["sum"].astype(np.float64)) / (max(n, 1) * self.correlation)
        total = np.zeros(self.domain.size)
        cells = np.arange(self.domain.size)
        for row in range(self.hashes):
            total += sketch[row, self.buckets(np.array([row]), cells).astype(np.intp)]
        f = (total - 1 / m) * m / (m - 1) if n else total
        shape = self.domain.shape
        return CellEstimate(self.domain, n, f.reshape(shape), standard_errors(self._variance(f, n), n).reshape(shape))

    def _variance(self, f: Floats, reports: int) -> Floats:
        """n times the expected squared error of f, by noise and by collisions.

        The part of collisions grows with n. It is the average over a random choice of hashes; under the hashes of one
        survey, collisions are a fixed bias of about this size.
        """
        share, m = np.clip(f, 0.0, 1.0), self.width
        noise = (m / (m - 1)) ** 2 * (1 / self.correlation**2 - share)
        return noise + reports * others_squared(f, noise / max(reports, 1)) / (self.hashes * (m - 1))

    def channel(self) -> NDArray[np.float64]:
        q = float(probability(self.flip))
        listed = self.layout.enumerate()
        table = np.empty((self.domain.size, len(listed["row"])))
        for cell in range(self.domain.size):
            honest = parity(self.buckets(listed["row"], np.array([cell])) & listed["character"].astype(np.uint64))
            table[cell] = np.where(honest == listed["sign"], 1 - q, q) / (self.hashes * self.width)
        return table

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        even = np.full(self.domain.size, 1 / self.domain.size)
        return {"point": float(np.sqrt(self._variance(even, reports)[0] / reports))}
