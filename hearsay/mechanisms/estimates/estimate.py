"""What an estimate is, and what it may be able to answer: a value never travels without its standard error.

An estimate says what a snapshot stores (`arrays`), how much memory it holds (`cost`) and which questions it is asked
first (`headline`). What else can be asked of it are capabilities, classes that it inherits.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import is_dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.charts import Chart
from hearsay.mechanisms.estimates.inversion import Inversion, Quantiles, sampled_cells
from hearsay.mechanisms.estimates.postprocess import NEEDED_FOR_SMOOTH, SMOOTH, Processed, isotonic, unsuited

Z95 = 1.96  # two-sided 95% point of the normal distribution
Floats = NDArray[np.float64]
Ends = NDArray[np.int64]
DECILES = "quantile 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9"
MEDIAN = "quantile 0.5"  # one of them


class _Columns(NamedTuple):
    value: Floats
    stderr: Floats
    low: Floats | None
    high: Floats | None


class Measured(_Columns):
    """Values with their standard errors and 95% intervals, one each. Without an interval none can be built.

    `Measured(value, stderr, low, high)` has intervals of its own. The other two say why there are none: in
    `Measured.plain` the interval is value +- 1.96 stderr (`low` and `high` are None), in `Measured.without_error` no
    error is known. To choose or reshape, use `take` and `each`, which change the interval too.

    >>> Measured(np.array([0.2]), np.array([0.1]))
    Traceback (most recent call last):
    TypeError: Measured.__new__() missing 2 required positional arguments: 'low' and 'high'
    >>> shares = Measured(np.array([0.0, 0.7]), np.array([0.1, 0.1]), np.array([-0.1, 0.5]), np.array([0.3, 0.9]))
    >>> [column.tolist() for column in shares.take([1]).ends()]
    [[0.5], [0.9]]
    """

    __slots__ = ()

    def __new__(cls, value: Floats, stderr: Floats, low: Floats, high: Floats) -> "Measured":
        if low is None or high is None:
            raise TypeError(
                "Measured needs low and high; where the interval is value +- 1.96 stderr, use Measured.plain"
            )
        return tuple.__new__(cls, (value, stderr, low, high))

    @classmethod
    def plain(cls, value: Floats, stderr: Floats) -> "Measured":
        """Values whose errors are normal with these standard errors, or that have none: value +- 1.96 stderr."""
        return tuple.__new__(cls, (value, stderr, None, None))

    @classmethod
    def without_error(cls, value: Floats) -> "Measured":
        """Values of a model, or of a method whose error nobody knows."""
        unknown = np.full(value.shape, np.nan)
        return cls(value, unknown, unknown, unknown)

    def each(self, change: Callable[[Floats], Floats]) -> "Measured":
        """The same change made to values, standard errors and intervals."""
        if self.low is None or self.high is None:
            return Measured.plain(change(self.value), change(self.stderr))
        return Measured(change(self.value), change(self.stderr), change(self.low), change(self.high))

    def take(self, chosen: Any) -> "Measured":
        """The chosen ones, as an index of arrays has it."""
        return self.each(lambda column: column[chosen])

    @classmethod
    def join(cls, parts: Sequence["Measured"]) -> "Measured":
        """Parts one after the other."""
        value, stderr = np.concatenate([part.value for part in parts]), np.concatenate([part.stderr for part in parts])
        if all(part.low is None for part in parts):
            return cls.plain(value, stderr)
        intervals = zip(*(part.ends() for part in parts), strict=True)
        return cls(value, stderr, *(np.concatenate(column) for column in intervals))

    def ends(self) -> tuple[Floats, Floats]:
        """The interval, whichever way it is given."""
        if self.low is None or self.high is None:
            return self.value - Z95 * self.stderr, self.value + Z95 * self.stderr
        return self.low, self.high


class Estimate(ABC):
    """What a survey's reports say, ready to be asked."""

    domain: Domain
    reports: int

    HEADLINE: ClassVar[tuple[str, ...]] = ()
    z: float = Z95  # the level of its intervals, in standard errors of a normal one
    repeats: int = 1  # windows added up in which devices may have sent the same report again

    def at_level(self, z: float) -> Self:
        """The same estimate with intervals of another level, such as those that hold for many cells together."""
        if z == self.z:
            return self
        other = replace(self) if is_dataclass(self) else copy(self)  # without what was worked out for its own level
        object.__setattr__(other, "z", z)
        return other

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a snapshot stores beside the exact state."""

    @property
    def cost(self) -> int:
        """How many numbers it holds, roughly: what a cache weighs."""
        return self.domain.size

    def headline(self) -> tuple[str, ...]:
        """The questions that every snapshot answers; those that cannot be answered are left out."""
        return self.HEADLINE

    def charts(self) -> tuple[Chart, ...]:
        """What it is drawn as, the most telling first; without a word from its family, tables of its headline."""
        return tuple(Chart("table", question, question) for question in self.headline())

    def processed(self, method: str) -> Processed | None:
        """What a survey's post-processing makes of the stored values, where it is defined for them."""
        return None

    def lacks(self, method: str) -> str | None:
        """Why a post-processing method cannot be used here, beyond the kind of query; None: it can."""
        if method == SMOOTH:
            return f"postprocess {NEEDED_FOR_SMOOTH}"
        reason = unsuited(method, self.domain)
        return None if reason is None else f"postprocess {reason}"


class Points(ABC):
    """Shares of single cells."""

    WHAT: ClassVar[str] = "shares of single cells"

    @abstractmethod
    def points(self, cells: Ends) -> Measured:
        """Single cells, by row-major index."""


class Ranges(ABC):
    """Shares of ranges; on one ordered axis prefixes and quantiles too."""

    WHAT: ClassVar[str] = "ranges"
    domain: Cells

    @abstractmethod
    def ranges(self, low: Ends, high: Ends) -> Measured:
        """Shares inside inclusive ranges, shape (queries, axes); O(log size) each."""

    def prefixes(self, ends: Ends) -> Measured:
        """Shares up to and including each end, on one axis."""
        self._one_axis()
        ends = ends.reshape(-1, 1)
        return self.ranges(np.zeros_like(ends), ends)

    def cdf(self) -> Measured:
        """The share up to and including every cell, on one axis."""
        self._one_axis()
        return self.prefixes(np.arange(self.domain.size, dtype=np.int64))

    def prefix_values(self) -> Floats:
        """The share up to and including every cell, without its error."""
        return self.cdf().value

    @cached_property
    def rising(self) -> Floats:
        """Cumulative shares that never fall: the nearest ones to those estimated."""
        return isotonic(self.prefix_values())

    @cached_property
    def inversion(self) -> Inversion:
        """What quantiles are read from."""
        self._one_axis()
        cells = sampled_cells(self.domain.size)
        measured = self.cdf() if cells.size == self.domain.size else self.prefixes(cells)
        low, high = measured.ends()
        unknown = ~np.isfinite(measured.stderr)
        # Where the fit has left what was estimated at a cell, the cell's interval still reaches from its own value.
        off = measured.value - self.rising[cells]
        above, below = high - measured.value + np.maximum(off, 0.0), measured.value - low + np.maximum(-off, 0.0)
        above, below = (np.where(unknown, 1.0, away) for away in (above, below))
        return Inversion(self.rising, cells, measured.stderr, above, below)

    def quantiles(self, ranks: Floats) -> Quantiles:
        """The first cell at which the cumulative share reaches each rank, with a 95% band in cells (`inversion`)."""
        if not ((ranks > 0) & (ranks < 1)).all():
            raise QueryError(what="quantile", expected="above 0 and below 1")
        return self.inversion.quantiles(ranks)

    def rank_bound(self) -> float | None:
        """A theorem's bound on a quantile's error in rank, at 95% and before any data; None without a theorem."""
        return None

    def _one_axis(self) -> None:
        if not self.domain.is_line:
            raise QueryError(f"prefix, cdf and quantile need an ordinal domain, this one is {self.domain.kind}")


class Sums(ABC):
    """Sums of cells with any coefficients."""

    WHAT: ClassVar[str] = "the error of any sum of cells"

    @abstractmethod
    def sums(self, coefficients: Floats | None = None) -> Measured:
        """Sums of the cells, one per row of coefficients; without them, the survey's own workload."""


class Averages(ABC):
    """The mean of the values themselves, in the domain's own units."""

    WHAT: ClassVar[str] = "the mean of the values"

    @abstractmethod
    def average(self) -> Measured:
        """The mean over all reports: one value."""


class Weighted(ABC):
    """Means over all reports of a weight, inside ranges."""

    WHAT: ClassVar[str] = "weights (options.weights public or private)"

    @abstractmethod
    def weighted(self, low: Ends, high: Ends) -> Measured:
        """Means over all reports of weight x [in range], for inclusive ranges, shape (queries, axes)."""
