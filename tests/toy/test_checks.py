"""The suite that ships is all that the author of a family from outside needs: the toy obeys it, broken toys do not."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest

from hearsay.checks import BrokenLaw, check_family, check_mechanism, check_query
from hearsay.mechanisms import Reports, build
from hearsay.mechanisms.estimates.estimate import Measured
from hearsay.mechanisms.exact.randomness import Random, seeded
from hearsay.mechanisms.guarantees.promises import PureLDP
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.queries.view import View
from tests.plugged import plugged
from tests.toy.mechanism import TwoThrows
from tests.toy.queries import SURVEY, Expected, Split, Sum, TopSums


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
            InPerCent(**{field.name: getattr(right, field.name) for field in fields(right)})
            for right in super().answer(estimate, view)
        ]


class TooSure(Split):
    """Forgets that those who were asked are some of all: a standard error that is too small."""

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return [answer.widened(0.7) for answer in super().answer(estimate, view)]


class TooCareful(Expected):
    """An interval of twice the width, beside the right standard error."""

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return [
            replace(answer, interval=(answer.value - 3.92 * answer.stderr, answer.value + 3.92 * answer.stderr))
            for answer in super().answer(estimate, view)
        ]


class WithoutError(Sum):
    """Drops standard error and interval together."""

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return [replace(answer, stderr=None, interval=(None, None)) for answer in super().answer(estimate, view)]


class InDomainOrder(TopSums):
    """The right sums, but not by their shares."""

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return sorted(super().answer(estimate, view), key=lambda answer: answer.item)


class NamesTheWrongSum(Sum):
    """Counts sums from 0 where it names them."""

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return [replace(answer, item=answer.item - 2) for answer in super().answer(estimate, view)]


class AlwaysShares(Sum):
    """Shares also where numbers of reports are asked for."""

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return super().answer(estimate, replace(view, scale=1.0))


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        (TooSure, "coverage: .* split .* in 'split'"),
        (TooCareful, "coverage: intervals of expected None in 'expected' are 2.* times as wide as its errors need"),
        (WithoutError, "coverage: 0% of the 95% intervals of sum 4 4 in 'sum 4' cover"),
        (InDomainOrder, "truth: answer 1 of 'top 2' is 0.75, got 0.25"),
        (NamesTheWrongSum, r"truth: answers to 'sum 4' are about \[4\], got \[2\]"),
        (AlwaysShares, "unit: value of 'sum 4' is .*, of 7 reports"),
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


class TellsTheFirstThrow(TwoThrows):
    """Its device does not randomise in the second round, whatever its channel says."""

    def perturb(self, values: Any, random: Any) -> Any:
        if self.common is None:
            return super().perturb(values, random)
        return {"value": self._answers(values).astype(np.uint8)}


class ChannelOfFirst(TwoThrows):
    """Keeps its promise in the first round only."""

    def in_round(self, history: Any) -> Any:
        asked = super().in_round(history)
        return replace(asked, epsilon=2 * self.epsilon) if history else asked

    @property
    def guarantee(self) -> Any:
        return PureLDP(SURVEY["epsilon"])


class CountsTwice(TwoThrows):
    def fold(self, state: Any, reports: Reports) -> Any:
        return super().fold(super().fold(state, reports), reports)


class HasItsOwnRandomness(TwoThrows):
    """Every device would send the same report again and again."""

    def perturb(self, values: Any, random: Random) -> Reports:
        return super().perturb(values, seeded(7))


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        (TellsTheTruth, "channel: report"),
        (ChannelOfFirst, "channel: report"),
        (TellsTheFirstThrow, "device: value 0 gives reports|device: reports of value 0 do not follow the channel"),
        (CountsTwice, "merge: the state must"),
        (HasItsOwnRandomness, "randomness: other random numbers must give other reports"),
    ],
)
def test_a_broken_mechanism_is_caught(kind: type[TwoThrows], law: str) -> None:
    check_family("tests.toy")
    right = build(SURVEY)
    with pytest.raises(BrokenLaw, match=law):
        check_mechanism(kind(right.epsilon, right.domain, right.options))


def test_a_family_of_which_nothing_can_be_checked_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with plugged("tests.toy.queries"), pytest.raises(BrokenLaw, match=r"tests\.toy\.queries has no table"):
        check_family("tests.toy.queries")
    monkeypatch.setattr(TwoThrows, "EXAMPLES", ())
    with pytest.raises(BrokenLaw, match=r"example: mechanism two-throws .* has no EXAMPLES"):
        check_family("tests.toy")
