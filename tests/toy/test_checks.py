"""The suite that ships is all that the author of a family from outside needs: the toy obeys it, broken toys do not."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from hearsay.checks import BrokenLaw, check_family, check_mechanism, check_query
from hearsay.mechanisms import Reports, build
from hearsay.mechanisms.estimates.estimate import Measured
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.queries.view import View
from tests.plugged import plugged
from tests.toy.mechanism import TwoThrows
from tests.toy.queries import SURVEY, Expected, Sum, TopSums


@pytest.fixture(autouse=True)
def _only_here() -> Iterator[None]:
    with plugged("tests.toy"):
        yield


def test_the_toy_obeys_every_law() -> None:
    check_family("tests.toy")


class CountedFromOne(Expected):
    """A wrong constant: the mean of the eyes is one too low."""

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return [replace(answer, value=(answer.value or 0.0) - 1) for answer in super().answer(estimate, view)]


class LosesTheInterval(TopSums):
    """Rebuilds what the estimate says, without its interval."""

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        sums = np.argsort(-estimate.sums.value, kind="stable")[: self.wanted]
        shares = estimate.shares_of(sums)
        return view.show(Measured.plain(shares.value, shares.stderr), [(int(number) + 2, None) for number in sums])


@dataclass(frozen=True, slots=True)
class InPerCent(Answer):
    """Shown in per cent, unlike every other answer."""

    def table(self) -> dict[str, Any]:
        return {**Answer.table(self), "value": 100 * (self.value or 0.0)}


class WrongJson(Sum):
    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return [
            InPerCent(right.query, right.value, right.stderr, right.item, interval=right.interval)
            for right in super().answer(estimate, view)
        ]


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        (CountedFromOne, "truth: answer 1 of 'expected' is 3.5, got 2.5"),
        (LosesTheInterval, "interval: answers to 'top 2' lose the interval"),
        (WrongJson, "json: row 1 of 'sum 4' has value"),
    ],
)
def test_a_broken_query_is_caught(kind: Any, law: str) -> None:
    check_family("tests.toy")
    with pytest.raises(BrokenLaw, match=law):
        check_query(kind)


class TellsTheTruth(TwoThrows):
    """Its channel says one thing, its device does another."""

    def channel(self) -> Any:
        honest = np.eye(super().channel().shape[1])
        return honest[np.arange(len(super().channel())) % len(honest)]


class CountsTwice(TwoThrows):
    def fold(self, state: Any, reports: Reports) -> Any:
        return super().fold(super().fold(state, reports), reports)


@pytest.mark.parametrize(("kind", "law"), [(TellsTheTruth, "channel: report"), (CountsTwice, "merge: the state must")])
def test_a_broken_mechanism_is_caught(kind: type[TwoThrows], law: str) -> None:
    check_family("tests.toy")
    right = build(SURVEY)
    with pytest.raises(BrokenLaw, match=law):
        check_mechanism(kind(right.epsilon, right.domain, right.options))
