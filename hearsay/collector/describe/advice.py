"""What a survey under metric privacy should consider: how many bins a continuous axis has."""

from typing import Any

from hearsay.mechanisms import Mechanism
from hearsay.mechanisms.metric.bounds import advised_bins, range_error
from hearsay.mechanisms.metric.l1 import MetricL1Signs

REPORTS = (10_000, 1_000_000)


def advice(mechanism: Mechanism) -> dict[str, Any]:
    """`advice`, sentences for every continuous axis of `metric-l1`; nothing for other surveys."""
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
