"""What all mechanisms on attributes share: their domain's code, sets of attributes, and a channel over whole values."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import Mechanism, Values
from hearsay.mechanisms.errors import refuse_more
from hearsay.mechanisms.guarantees.promises import Guarantee, PureLDP
from hearsay.mechanisms.marginals.characters.coefficients import level_sizes
from hearsay.mechanisms.marginals.domain import AttributeDomain, OnAttributes
from hearsay.mechanisms.marginals.estimate import ExactMarginals


@dataclass(frozen=True)
class AttributeMechanism(OnAttributes, Mechanism):
    """A mechanism whose values are several attributes, with pure epsilon-LDP for all of them together."""

    domain: AttributeDomain

    @property
    def guarantee(self) -> Guarantee:
        return PureLDP(self.epsilon)

    def refuse_more_bits(self, most: int) -> None:
        """Refuse attributes that take more bits together."""
        refuse_more(self.code.width, most, f"bits for {self.ID}", "; use inp-ht")

    def refuse_more_characters(self, most: int) -> None:
        """Refuse attributes that have more characters of up to k of them."""
        count = sum(level_sizes(self.code, self.order))
        refuse_more(count, most, f"characters of up to {self.order} attributes for {self.ID}", "; lower the order")

    def refuse_more_combinations(self, most: int) -> None:
        """Refuse attributes that have more combinations."""
        refuse_more(self.domain.size, most, f"combinations of attributes for {self.ID}", "; use inp-ht")

    @cached_property
    def mean_cells(self) -> float:
        """The mean number of cells of a marginal of k attributes."""
        return float(np.mean([self.code.cells(chosen) for chosen in self.sets()]))

    def exact(self, values: Values) -> ExactMarginals:
        checked = self.domain.check(values)
        return ExactMarginals(self.domain, len(checked), checked)

    @abstractmethod
    def report_chances(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        """P(report | value) for each of the given values, every report of `layout.enumerate()` a column."""

    def channel(self) -> NDArray[np.float64]:
        every = np.stack(np.unravel_index(np.arange(self.domain.size), self.domain.shape), axis=1)
        return self.report_chances(every)
