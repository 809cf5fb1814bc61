"""Questions about throws, one of them with a post-processing method of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.queries.example import Example
from hearsay.mechanisms.queries.query import Query
from hearsay.mechanisms.queries.view import View
from tests.toy.estimate import Splits, Sums

NOT_BELOW_ZERO = "not-below-zero"
SURVEY = {"mechanism": "two-throws", "epsilon": 3.0, "domain": {"kind": "dice", "sides": 3}}
THROWS = ((1, 3), (2, 2), (3, 1), (1, 1))


def _show(estimate: Any, view: View, sums: NDArray[np.int64]) -> list[Answer]:
    raw = estimate.shares_of(sums)
    processed = np.maximum(raw.value, 0.0) if view.method == NOT_BELOW_ZERO else None
    return view.show(raw, ((int(place) + 2, None) for place in sums), processed)


@dataclass(frozen=True)
class Sum(Query):
    """The share of one sum."""

    place: int

    NAME, GRAMMAR = "sum", "sum S"
    HELP = "the share of those whose two throws sum up to S"
    NEEDS, WORDS, METHODS = Sums, (1, 1), frozenset({NOT_BELOW_ZERO})
    EXAMPLES = (Example(SURVEY, THROWS, "sum 4", [3 / 4], [4]),)

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        return cls(domain.locate(words[0]))

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return _show(estimate, view, np.array([self.place]))


@dataclass(frozen=True)
class TopSums(Query):
    """The most common sums."""

    wanted: int

    NAME, GRAMMAR = "top", "top K"
    HELP = "the K most common sums of two throws"
    NEEDS, WORDS, MANY, METHODS = Sums, (1, 1), True, frozenset({NOT_BELOW_ZERO})
    EXAMPLES = (Example(SURVEY, THROWS, "top 2", [3 / 4, 1 / 4], [4, 2]),)

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        if not words[0].isdecimal() or int(words[0]) < 1:
            raise QueryError(what="top", expected="a whole number of at least 1", got=words[0])
        return cls(int(words[0]))

    def answers(self, domain: Domain) -> int:
        return min(self.wanted, domain.size)

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return _show(estimate, view, np.argsort(-estimate.sums.value, kind="stable")[: self.wanted])


@dataclass(frozen=True)
class Expected(Query):
    """The mean of the sums."""

    NAME, GRAMMAR = "expected", "expected"
    HELP = "the mean of the sum of two throws"
    NEEDS = Sums
    OWN_UNIT = "whose value is a number of eyes"
    EXAMPLES = (Example(SURVEY, THROWS, "expected", [3.5]),)

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        return cls()

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return view.show(estimate.mean(), [(None, None)])


@dataclass(frozen=True)
class Split(Query):
    """How the most common sum was thrown."""

    NAME, GRAMMAR = "split", "split"
    HELP = "the shares of those with the most common sum, by their first throw; after the second round"
    NEEDS, MANY = Splits, True
    EXAMPLES = (Example(SURVEY, THROWS, "split", [1 / 4] * 3, [{"sum": 4, "first": eyes} for eyes in (1, 2, 3)]),)

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        return cls()

    def answers(self, domain: Any) -> int:
        return int(domain.sides)

    def together(self, domain: Any) -> int:
        return int(domain.sides)

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        found = estimate.splits()
        if found is None:
            raise QueryError("query split needs reports of the second round, there are none")
        common, shares = found
        names = ((None, {"sum": common + 2, "first": eyes}) for eyes in range(1, estimate.domain.sides + 1))
        return view.show(shares, names)
