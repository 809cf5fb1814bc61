"""The top of a hierarchy, solved as a whole: overlapping windows over a few hundred units, by least squares.

The domain is cut into `units`, nodes of one level of a tree. Everything that is known about their shares f enters here:
every partition of the units into windows, estimated with variance V a window, and what the trees below say about each
unit, z with variance U. A partition may be shifted around the end of the domain, so the windows of one width can lie at
several offsets; a plain tree's upper levels are partitions without a shift.

With H = diag(1/U) + sum over partitions of A'A/V (A is 1 where a window holds a unit), and C the inverse of H on the
shares that sum to 0, the weighted least squares estimate under sum f = 1 is

    f = f0 + C (z/U + sum A'y/V - H f0)      for any f0 that sums to 1,

and a query q on the units gives the windows weights A C q/V and the units' z the weights C q/U. What no report tells
anything about stays at f0, evenly filled cells, and is marked as unknown.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.estimates.estimate import Floats

_SINGULAR = 1e-12  # eigenvalues below this share of the largest are rounding
WELL_KNOWN = 1e6  # the condition up to which rounding stays below 1e-9


@dataclass(frozen=True)
class Crown:
    """Least squares on the units."""

    windows: tuple[Indices, ...]  # for every partition the window of each unit
    variances: tuple[float, ...]  # of one window's estimate, by partition
    below: Floats  # U of every unit
    cells: Floats  # how many cells each unit has

    @property
    def units(self) -> int:
        return self.below.size

    @cached_property
    def sizes(self) -> list[int]:
        """How many windows every partition has."""
        return [int(node.max()) + 1 for node in self.windows]

    @cached_property
    def design(self) -> Floats:
        """A of all partitions, one row a window."""
        rows = [node[None, :] == np.arange(size)[:, None] for node, size in zip(self.windows, self.sizes, strict=True)]
        return np.concatenate([np.zeros((0, self.units)), *rows])

    @cached_property
    def precisions(self) -> Floats:
        """1/V of every row of the design."""
        return np.repeat(1 / np.array(self.variances, dtype=np.float64), self.sizes)

    @cached_property
    def _solved(self) -> tuple[Floats, Floats, Floats]:
        """H, C, and the projection on what is unknown."""
        information = np.diag(1 / self.below) + _square(np.sqrt(self.precisions)[:, None] * self.design)
        return information, *inverse_at_known_total(information)

    @property
    def covariance(self) -> Floats:
        """C: the covariance of the units' shares, were the partitions' estimates uncorrelated with variance V."""
        return self._solved[1]

    @property
    def unknown(self) -> Floats | None:
        """The projection on what no report tells anything about; None if there is nothing such."""
        projection = self._solved[2]
        return projection if projection.any() else None

    def shares(self, estimates: list[Floats], below: Floats) -> Floats:
        """The units' shares, from every partition's estimates and the z of the trees below."""
        information, covariance, _ = self._solved
        even = self.cells / self.cells.sum()
        right_side = below / self.below + self.design.T @ (self.precisions * np.concatenate([np.zeros(0), *estimates]))
        shares: Floats = even + covariance @ (right_side - information @ even)
        return shares


def _square(matrix: Floats) -> Floats:
    """M'M, for which the linear algebra library needs half the work."""
    return matrix.T @ matrix


def inverse_at_known_total(information: Floats) -> tuple[Floats, Floats]:
    """C, the inverse on vectors that sum to 0, and the projection on those of them that H knows nothing about."""
    size = len(information)
    even = np.full((size, size), 1 / size)
    centred = information - even @ information
    centred -= centred @ even
    scale = max(float(np.trace(centred)) / size, 1e-300)
    # The direction of the total gets an eigenvalue of its own, which is taken out afterwards.
    values, vectors = np.linalg.eigh((centred + centred.T) / (2 * scale) + even)
    known = values > _SINGULAR * values[-1]
    inverse = (vectors[:, known] / values[known]) @ vectors[:, known].T - even
    return inverse / scale, vectors[:, ~known] @ vectors[:, ~known].T


def well_known_inverse(information: Floats) -> Floats:
    """C alone, a tenth of the work where every direction is well known: H^-1 less its part along the total.

    With u = H^-1 1 that is C = H^-1 - u u' / sum(u).
    """
    spread = np.linalg.norm(information, 1)
    try:
        inverse = np.linalg.inv(information)
    except np.linalg.LinAlgError:
        return inverse_at_known_total(information)[0]
    if not spread * np.linalg.norm(inverse, 1) < WELL_KNOWN:
        return inverse_at_known_total(information)[0]
    along = inverse.sum(axis=1)
    result: Floats = inverse - np.outer(along, along) / along.sum()
    return result
