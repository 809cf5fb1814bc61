"""Error bounds under metric privacy that need no data (the paper's theorems), and advice on the number of bins.

c = (e^eps - 1)/(e^eps + 1) is the correlation of a reported sign with the true one (Xiang et al. 4.2 to 4.4). Theorems
2 to 4 are about the literal form (`anchored = false`). Their proof treats correlated observations as independent, so
with two or more axes the error can slightly exceed them.
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
    """n Var of a range that restricts `cut` of the axes (theorem 3)."""
    return (1 - correlation ** (2 * axes)) / (correlation ** (2 * axes) * 2**cut)


def weighted_range_bound(correlation: float, axes: int, cut: int, largest: float, private: bool) -> float:
    """n Var of a range's mean weight, weights in 0..largest (theorem 4)."""
    extra = int(private)
    return largest**2 * range_bound(correlation, axes + extra, cut + extra)


def rank_bound(correlation: float, cells: int, reports: int, delta: float = 0.05, anchored: bool = True) -> float:
    """With probability 1 - delta a quantile from a binary search misses its rank by at most this (theorem 5).

    Two-sided, with n reports and m cells: 2/c sqrt((2/n) ln(4 log2(m)/delta)). In the anchored form it is half of that,
    because the last sign is exact, and so the term of every report spans 1/c instead of 2/c.
    """
    if not 0 < delta < 1:
        raise QueryError(what="delta", expected="above 0 and below 1", got=f"{delta:g}")
    literal = 2 / correlation * sqrt(2 / max(reports, 1) * log(4 * log2(cells) / delta))
    return literal / 2 if anchored else literal


def range_error(epsilon_per_unit: float, length: float, bins: int, reports: int) -> float:
    """Expected root mean square error of a range with arbitrary ends, if values are uniform over `length` units.

    Estimation: the variance of an interior range whose signs spend epsilon times the bin width each. Rounding: each of
    the two ends moves to the nearest edge of a bin, uniformly by at most half a bin: variance 1/(12 bins^2) each.
    """
    correlation = tanh(0.5 * epsilon_per_unit * length / bins)
    estimation = (1 - correlation**2) / (2 * correlation**2) / max(reports, 1)
    return sqrt(estimation + 1 / (6 * bins**2))


def advised_bins(epsilon_per_unit: float, length: float, reports: int) -> int:
    """The number of bins with the least expected error: few bins round too much, many bins get too little epsilon."""
    low, high = 2, MAXIMUM_BINS
    while low < high:  # the error first decreases in the number of bins, then increases
        middle = (low + high) // 2
        error, next_error = (range_error(epsilon_per_unit, length, bins, reports) for bins in (middle, middle + 1))
        low, high = (low, middle) if error <= next_error else (middle + 1, high)
    return low


def advice_on_bins(axis: Axis, epsilon: float) -> str:
    """How many bins a continuous axis should have; `epsilon` is what a bin spends with the present number of bins."""
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
