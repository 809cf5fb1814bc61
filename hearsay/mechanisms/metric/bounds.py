"""What is known about errors under metric privacy before any data: the paper's bounds, and advice on bins.

Correlation c = (e^eps - 1)/(e^eps + 1) throughout (Xiang et al. 4.2 to 4.4). Theorems 2 to 4 speak of the literal form;
their proof takes correlated observations for independent ones, so with two or more axes they can be exceeded a little.
"""

from math import log, log2, sqrt, tanh

from hearsay.mechanisms.domains.axis import Axis
from hearsay.mechanisms.errors import QueryError

MAXIMUM_BINS = 1 << 16
_ADVISED_FOR = (10_000, 1_000_000)  # reports


def cell_bound(correlation: float, axes: int) -> float:
    """n Var of one cell's share (theorem 2, with 1 as the constant)."""
    return range_bound(correlation, axes, axes)


def range_bound(correlation: float, axes: int, cut: int) -> float:
    """n Var of a range that cuts so many of the axes (theorem 3)."""
    return (1 - correlation ** (2 * axes)) / (correlation ** (2 * axes) * 2**cut)


def weighted_range_bound(correlation: float, axes: int, cut: int, largest: float, private: bool) -> float:
    """n Var of a range's mean weight, weights in 0..largest (theorem 4)."""
    extra = int(private)
    return largest**2 * range_bound(correlation, axes + extra, cut + extra)


def rank_bound(correlation: float, cells: int, reports: int, delta: float = 0.05, anchored: bool = True) -> float:
    """A quantile found by binary search misses its rank by at most this, with chance 1 - delta (theorem 5).

    Two-sided: 2/c sqrt((2/n) ln(4 log2(m)/delta)), and half of it where the last sign is exact, because every
    report's term then spans 1/c instead of 2/c.
    """
    if not 0 < delta < 1:
        raise QueryError(f"delta must be above 0 and below 1, got {delta:g}")
    literal = 2 / correlation * sqrt(2 / max(reports, 1) * log(4 * log2(cells) / delta))
    return literal / 2 if anchored else literal


def range_error(epsilon_per_unit: float, length: float, bins: int, reports: int) -> float:
    """Expected root mean square error of a range with arbitrary ends, values spread evenly over `length` units.

    Estimation: an interior range of signs with eps x bin width each. Truncation: each end moves to the nearest edge,
    by a uniform part of at most half a bin: variance 1/(12 bins^2) for each of the two ends.
    """
    correlation = tanh(0.5 * epsilon_per_unit * length / bins)
    estimation = (1 - correlation**2) / (2 * correlation**2) / max(reports, 1)
    return sqrt(estimation + 1 / (6 * bins**2))


def advised_bins(epsilon_per_unit: float, length: float, reports: int) -> int:
    """The number of bins with the least expected error: few bins cut off the ends, many bins share little epsilon."""
    low, high = 2, MAXIMUM_BINS
    while low < high:  # the error falls, then rises
        middle = (low + high) // 2
        here, next_one = (range_error(epsilon_per_unit, length, bins, reports) for bins in (middle, middle + 1))
        low, high = (low, middle) if here <= next_one else (middle + 1, high)
    return low


def advice_on_bins(axis: Axis, epsilon: float) -> str:
    """How many bins a continuous axis should have, `epsilon` being spent per bin as it is now."""
    length, per_unit = axis.width * axis.size, epsilon / axis.width
    options = []
    for reports in _ADVISED_FOR:
        bins = advised_bins(per_unit, length, reports)
        best, now = (range_error(per_unit, length, number, reports) for number in (bins, axis.size))
        options.append(f"{bins} bins at {reports:,} reports (error {best:.2g} instead of {now:.2g})")
    return (
        f"{axis.name} has {axis.size} bins of width {axis.width:g}. The error of a range, estimation and rounding "
        f"to bins together, is expected to be least with {'; '.join(options)}."
    )
