"""What methods share that put a plain oracle of `oracles` on all combinations of the attributes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import Values
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.layout import Reports
from hearsay.mechanisms.marginals.mechanism import AttributeMechanism
from hearsay.mechanisms.oracles.on_oracle import OnOracle


@dataclass(frozen=True)
class WholeValue(AttributeMechanism, OnOracle):
    """A combination is a cell of the oracle's domain."""

    def cells(self, values: Values) -> NDArray[Any]:
        """The combination of every device, row-major over the attributes."""
        return np.ravel_multi_index(tuple(np.asarray(values).T), self.domain.shape)

    def perturb(self, values: Values, random: Random) -> Reports:
        return self.oracle.perturb(self.cells(self.domain.check(values)), random)

    def report_chances(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.oracle.channel()[self.cells(values)]
