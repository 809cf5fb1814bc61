"""The one question to a survey of numbers."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

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


@dataclass(frozen=True)
class MeanOfNumber(Query):
    """The mean."""

    NAME, GRAMMAR = "mean", "mean"
    HELP = "the mean of all devices' numbers, in the domain's units"
    NEEDS, OWN_UNIT = OneMean, "whose values are in the domain's units"
    EXAMPLES = (Example(_NUMBERS, [1.0, 2.0, 6.0], "mean", [3.0]),)

    @classmethod
    def unsuited(cls, domain: Domain) -> str | None:
        return None if isinstance(domain, Number) else f"query mean needs numbers, this survey is {domain.kind}"

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        return cls()

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return view.show(estimate.mean(), [(None, None)])
