"""Simulated populations: people drawn from a named shape; each domain lists its shapes."""

from functools import reduce
from typing import Any

import numpy as np

from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.domains.shapes import Shares, shares
from hearsay.mechanisms.errors import one_of
from hearsay.producer.errors import DistributionError


class Population:
    """Values of simulated people, drawn independently; repeatable where the generator is seeded."""

    def __init__(self, name: str, domain: Domain, generator: np.random.Generator) -> None:
        if name not in domain.shapes():
            raise DistributionError(
                what="distribution",
                expected=f"one of {one_of(domain.shapes(), name)} for a domain of kind {domain.kind}",
                got=repr(name),
            )
        self._name, self._domain, self._generator = name, domain, generator

    @property
    def truth(self) -> Shares:
        """The probability of every cell, of a domain of cells."""
        if not isinstance(self._domain, Cells):
            raise DistributionError(f"the truth of a domain of kind {self._domain.kind} is no list of cells")
        return reduce(np.multiply.outer, [shares(self._name, size) for size in self._domain.shape])

    def take(self, count: int) -> Any:
        """The values of the next people."""
        return self._domain.simulated(self._name, count, self._generator)
