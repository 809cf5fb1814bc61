"""What a survey should consider: how many bins a continuous axis has under metric privacy, and rising shares."""

from typing import Any

from hearsay.mechanisms import Mechanism
from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.estimates.postprocess import ISOTONIC
from hearsay.mechanisms.metric.bounds import advised_bins, range_error
from hearsay.mechanisms.metric.l1 import MetricL1Signs

REPORTS = (10_000, 1_000_000)
_NOISY_PREFIXES, _MANY_CELLS = ("haar", "hierarchical"), 64
_RISING = (
    "The true cumulative share never falls, the estimated one does. Asked with postprocess isotonic, ranges come from "
    "the nearest one that never falls: a quarter to nearly half of their error is saved, less with many reports for "
    "each cell. Such values are biased, and say so; standard errors and intervals stay those of the raw values."
)


def advice(mechanism: Mechanism, postprocess: str) -> dict[str, Any]:
    """`advice`: sentences for every continuous axis of `metric-l1`, and for ranges over many cells; else nothing."""
    domain = mechanism.domain
    rising = mechanism.ID in _NOISY_PREFIXES and isinstance(domain, Cells) and domain.is_line
    if rising and domain.size >= _MANY_CELLS and postprocess != ISOTONIC:
        return {"advice": [_RISING]}
    if not isinstance(mechanism, MetricL1Signs):
        return {}
    lines = []
    for axis, epsilon in zip(mechanism.value_domain.axes, mechanism.epsilon_per_cell, strict=False):
        if axis.low is None:
            continue
        length, per_unit = axis.width * axis.size, epsilon / axis.width
        best = [(reports, advised_bins(per_unit, length, reports)) for reports in REPORTS]
        advised = "; ".join(
            f"{bins} bins at {reports:,} reports (error {range_error(per_unit, length, bins, reports):.2g} "
            f"instead of {range_error(per_unit, length, axis.size, reports):.2g})"
            for reports, bins in best
        )
        lines.append(
            f"{axis.name} has {axis.size} bins of width {axis.width:g}. The error of a range, estimation and rounding "
            f"to bins together, is expected to be least with {advised}."
        )
    return {"advice": lines} if lines else {}
