"""The questions to a survey of numbers."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.estimates.estimate import Measured
from hearsay.mechanisms.means.domain import Number
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.queries.example import Example
from hearsay.mechanisms.queries.query import Query
from hearsay.mechanisms.queries.view import View

_NUMBERS = {"mechanism": "mean", "epsilon": 2.0, "domain": {"kind": "number", "low": 0.0, "high": 10.0}}


class OneMean(ABC):
    """The mean of all devices' numbers."""

    WHAT: ClassVar[str] = "the mean of a number"

    @abstractmethod
    def mean(self) -> Measured:
        """In the domain's own units."""


class OneSpread(ABC):
    """The standard deviation of all devices' numbers."""

    WHAT: ClassVar[str] = "the standard deviation of a number (options.moments = 2)"

    @abstractmethod
    def std(self) -> Measured:
        """In the domain's own units."""


class NumberQuery(Query):
    """Asked of numbers only."""

    OWN_UNIT = "whose values are in the domain's units"

    @classmethod
    def unsuited(cls, domain: Domain) -> str | None:
        return None if isinstance(domain, Number) else f"query {cls.NAME} needs numbers, this survey is {domain.kind}"


@dataclass(frozen=True)
class StdOfNumber(NumberQuery):
    """The standard deviation."""

    NAME, GRAMMAR = "std", "std"
    HELP = "the standard deviation of all devices' numbers, in the domain's units"
    NEEDS = OneSpread
    SETTING = "moments = 2 below [options]"
    EXAMPLES = (Example({**_NUMBERS, "options": {"moments": 2}}, [1.0, 5.0, 1.0, 5.0], "std", [2.0]),)

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return view.show(estimate.std(), [(None, None)])


@dataclass(frozen=True)
class MeanOfNumber(NumberQuery):
    """The mean."""

    NAME, GRAMMAR = "mean", "mean"
    HELP = "the mean of all devices' numbers, in the domain's units"
    NEEDS = OneMean
    EXAMPLES = (Example(_NUMBERS, [1.0, 2.0, 6.0], "mean", [3.0]),)
    PREDICTED = "mean"

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return view.show(estimate.mean(), [(None, None)])

    def sampling(self, estimate: Any, answers: Sequence[Answer]) -> Sequence[float]:
        return [estimate.among]
