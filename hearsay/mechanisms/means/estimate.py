"""The mean of one number per device."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.estimates.estimate import Estimate, Measured
from hearsay.mechanisms.means.domain import Number
from hearsay.mechanisms.means.queries import OneMean


@dataclass(frozen=True)
class MeanEstimate(Estimate, OneMean):
    """The mean in the domain's own units; NaN without reports."""

    domain: Number
    reports: int
    value: float
    stderr: float
    ends: tuple[float, float] | None = None  # the interval, where it is not value +- 1.96 stderr
    among: float = 0.0  # the devices' own variance, where it is not in the error already

    HEADLINE: ClassVar[tuple[str, ...]] = ("mean",)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"estimate": np.array([self.value]), "stderr": np.array([self.stderr])}

    def mean(self) -> Measured:
        value, stderr = np.array([self.value]), np.array([self.stderr])
        if self.ends is None:
            return Measured.plain(value, stderr)
        low, high = self.ends
        return Measured(value, stderr, np.array([low]), np.array([high]))
