"""The mean of one number a device."""

from dataclasses import dataclass

from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.means.domain import Number


@dataclass(frozen=True)
class MeanEstimate(Estimate):
    """In the domain's own units; not a number without reports."""

    domain: Number
    reports: int
    value: float
    stderr: float
