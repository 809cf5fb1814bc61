"""The truth in the shape of an estimate, so that the same queries can be asked of both."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.domain import Domain, Indices
from hearsay.mechanisms.estimates.estimate import Estimate, Measured


@dataclass(frozen=True)
class Exact(Estimate):
    """The shares among the people themselves, without noise."""

    def ranges(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Measured:
        shares = [
            self.estimate[tuple(slice(first, last + 1) for first, last in zip(a, b, strict=True))].sum()
            for a, b in zip(low, high, strict=True)
        ]
        return Measured(np.array(shares), np.zeros(len(shares)))

    def cdf(self) -> Measured:
        return Measured(np.cumsum(self.estimate), np.zeros(self.estimate.size))


def exact(domain: Domain, cells: Indices) -> Exact:
    """What is true of the people who hold these cells."""
    counts = np.bincount(domain.flatten(cells), minlength=domain.size).reshape(domain.shape)
    return Exact(domain, len(cells), counts / len(cells), np.zeros(domain.shape))
