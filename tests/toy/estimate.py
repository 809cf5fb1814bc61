"""What reports of throws say: no share per cell, but shares of sums, their mean, and how the most common was thrown."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from hearsay.mechanisms.estimates.estimate import Ends, Estimate, Measured
from tests.toy.domain import Dice


class Sums(ABC):
    """A capability of its own, of the first round."""

    WHAT = "sums of throws"

    @abstractmethod
    def shares_of(self, sums: Ends) -> Measured:
        """The shares of sums, counted from 0."""

    @abstractmethod
    def mean(self) -> Measured:
        """The mean of the sums, in eyes."""


class Splits(ABC):
    """A capability of its own, of the second round."""

    WHAT = "how a sum was thrown"

    @abstractmethod
    def splits(self) -> tuple[int, Measured] | None:
        """The most common sum, counted from 0, and the shares of those who threw it, by their first throw."""


@dataclass(frozen=True)
class DiceEstimate(Estimate, Sums, Splits):
    """All that is known after one round or two."""

    domain: Dice
    reports: int
    sums: Measured
    eyes: Measured
    common: int | None = None
    first: Measured | None = None

    HEADLINE = ("expected", "top 3", "split")

    def arrays(self) -> dict[str, NDArray[Any]]:
        arrays = {"sums": self.sums.value, "sums_stderr": self.sums.stderr}
        if self.first is not None:
            arrays |= {"first": self.first.value, "first_stderr": self.first.stderr}
        return arrays

    @property
    def cost(self) -> int:
        return sum(array.size for array in self.arrays().values())

    def shares_of(self, sums: Ends) -> Measured:
        return self.sums.take(sums)

    def mean(self) -> Measured:
        return self.eyes

    def splits(self) -> tuple[int, Measured] | None:
        return None if self.first is None or self.common is None else (self.common, self.first)
