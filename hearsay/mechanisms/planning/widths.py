"""How wide a question's interval will be, before there are reports.

Most intervals depend on the state smoothly: they are read from the **expected state**, that of many more reports of
the guessed shape, divided down to the number of users. Where a width differs much from survey to survey (quantiles: a
noisy cumulative distribution is not its mean; means that the domain's ends cut) whole surveys are drawn instead, and
the median of their widths is taken. `within_90` is the width that nine surveys in ten stay below.

Everything is drawn from fixed seeds: the same question has the same answer, and curves over users and epsilon are
smooth enough to be inverted.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, isfinite, isnan, prod, sqrt
from typing import Any

import numpy as np

from hearsay.mechanisms.base import Mechanism, State
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Z95, Estimate, Floats
from hearsay.mechanisms.planning.drawn_states import play
from hearsay.mechanisms.planning.report_size import report_bits
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.questions import Question, answer

EXPECTED_TIMES = 25  # the expected state has so many times the reports; its own noise is a fifth of a survey's
SURVEYS = 40  # drawn where the width varies; their median is right to 5-10%
_MORE_SURVEYS = 160  # drawn where it is not: the widths have few sizes, and the median is one or another of them
_UNSURE = 0.4  # how wide the median's 95% interval may be, as a share of the median, before more are drawn
_PLAYED_MOST = 400_000  # reports played for one state; beyond, the state is scaled
_PLAYED_BITS = 1 << 27  # and so many bits of reports at most, for reports that are long vectors
_GROWN_CELLS = 1 << 24  # of states that are kept to grow surveys from: 128 MiB
_ROUGHLY = 8  # so many times fewer do where widths are only compared, or lead to where an exact one is asked for
_SPREAD_SURVEYS, _SPREAD_USERS = 10, 4_000  # drawn for the spread of a smooth width
_LARGE = 1 << 9  # cells from which fewer of them must do
_LARGE_SURVEYS = 4
_NINETY = 1.2816  # the normal distribution's 90% point
_SEED = 20_240_229


@dataclass(frozen=True)
class Width:
    """Median half width of the 95% interval, and what nine surveys in ten stay below; infinite where unknown."""

    within: float
    within_90: float


@dataclass(frozen=True)
class Guess:
    """Who the users are guessed to be: a shape of the domain, or values of real people."""

    domain: Domain
    values: Any = None
    _drawn: dict[tuple[str, int], Any] = field(default_factory=dict, compare=False)

    def people(self, shape: str, count: int) -> Any:
        """So many people; the same again for the same number."""
        if (shape, count) not in self._drawn:
            if len(self._drawn) >= 16:
                self._drawn.clear()
            self._drawn[shape, count] = self._some(shape, count, _SEED)
        return self._drawn[shape, count]

    def others(self, shape: str, count: int, survey: int) -> Any:
        """People of one survey among several: who takes part differs too, unless their values were given."""
        return self.people(shape, count) if self.values is not None else self._some(shape, count, [_SEED, survey])

    def _some(self, shape: str, count: int, seed: int | list[int]) -> Any:
        if self.values is not None:
            return self.values[np.arange(count) % len(self.values)]
        return self.domain.simulated(shape, count, np.random.default_rng(seed))


@dataclass(frozen=True)
class Played:
    """Surveys played in memory under one mechanism. With `kept`, each is played once for all who ask."""

    mechanism: Mechanism
    guess: Guess
    kept: dict[tuple[Any, ...], Estimate] | None = None
    rough: bool = False

    def expected(self, shape: str, users: int) -> Estimate:
        """What the expected state of so many users says."""
        return self._remembered((shape, users), lambda: self._at_expected_state(shape, users))

    def survey(self, shape: str, users: int, number: int) -> Estimate:
        """What one whole survey says."""
        return self._remembered((shape, users, number), lambda: self._whole(shape, users, number))

    @cached_property
    def most(self) -> int:
        """How many reports are played at most."""
        reports = min(_PLAYED_MOST, int(_PLAYED_BITS / max(1.0, report_bits(self.mechanism.layout))))
        return max(1_000, reports // _ROUGHLY if self.rough else reports)

    @property
    def can_grow(self) -> bool:
        """Whether states may be added and divided, and enough of them are small enough to be kept."""
        cells = sum(prod(shape) for shape in self.mechanism.arrays.values())
        return not self.mechanism.PLANNED_FROM_SURVEYS and SURVEYS * cells <= _GROWN_CELLS

    def grown(self, shape: str, users: int) -> Iterator[Estimate]:
        """What surveys of more users than are played say.

        A state of n users is n times its mean, and noise that grows with the root of n. The mean is that of `SURVEYS`
        surveys of m users, the noise is the difference of two of them, which is root 2 times as large as one's own.
        So widths stop where the data stop them: at a quantile's cell, at the domain's ends, where nobody holds a key.
        """
        played = [self._state(shape, self.most, number) for number in range(SURVEYS)]
        times = users / self.most
        mean = {name: sum(state[name] for _, state in played) / SURVEYS for name in self.mechanism.arrays}
        for number, (mechanism, state) in enumerate(played):
            other = played[number - 1][1]
            yield mechanism.estimate(
                {
                    name: np.rint(times * mean[name] + sqrt(times / 2) * (state[name] - other[name])).astype(np.int64)
                    for name in mean
                }
            )

    def _remembered(self, key: tuple[Any, ...], make: Callable[[], Estimate]) -> Estimate:
        if self.kept is None:
            return make()
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]

    def _at_expected_state(self, shape: str, users: int) -> Estimate:
        played = min(EXPECTED_TIMES * users, self.most)
        generator = np.random.default_rng([_SEED, 1])
        mechanism, state = play(self.mechanism, self.guess.people(shape, played), generator)
        scale = users / played
        return mechanism.estimate({name: np.rint(array * scale).astype(np.int64) for name, array in state.items()})

    def _whole(self, shape: str, users: int, number: int) -> Estimate:
        mechanism, state = self._state(shape, users, number)
        return mechanism.estimate(state)

    def _state(self, shape: str, users: int, number: int) -> tuple[Mechanism, State]:
        people = self.guess.others(shape, users, number)
        return play(self.mechanism, people, np.random.default_rng([_SEED, 2, number]))


@dataclass(frozen=True)
class Widths:
    """The widths of one question under one mechanism, for any shape and number of users."""

    played: Played
    question: Question
    varies: bool  # the width differs much from survey to survey: whole surveys are drawn
    in_ranks: bool = False  # a quantile's error as a share of the users, which no shape changes
    refusals: list[QueryError] = field(default_factory=list, compare=False)  # of surveys that could not answer
    _expected: dict[tuple[str, int], float] = field(default_factory=dict, compare=False)

    @property
    def mechanism(self) -> Mechanism:
        return self.played.mechanism

    def at(self, shape: str, users: int) -> Width:
        """Median and 90% point, for so many users of a shape."""
        known = self.mechanism.planned_width(self.question.verb, users)
        if known is not None:
            return Width(known, known)
        if self.varies:
            return self._drawn(shape, users)
        within = self.expected(shape, users)
        if not isfinite(within):
            return Width(inf, inf)
        return Width(within, within * (1 + _NINETY * self._relative_spread(shape, users)))

    def expected(self, shape: str, users: int) -> float:
        """The half width at the expected state."""
        known = self.mechanism.planned_width(self.question.verb, users)
        if known is not None:
            return known
        if (shape, users) not in self._expected:
            self._expected[shape, users] = self._asked(self.played.expected(shape, users))
        return self._expected[shape, users]

    def _drawn(self, shape: str, users: int) -> Width:
        """Of whole surveys; of more users than can be played, of surveys that are grown, or by the root of users."""
        if users > self.played.most and self.played.can_grow:
            return _median(np.sort([self._asked(each) for each in self.played.grown(shape, users)]))
        played = min(users, self.played.most)
        shrunk = sqrt(played / users)
        widths = np.sort(self._surveys(shape, played, SURVEYS)) * shrunk
        low, high = around_median(widths)
        if _UNSURE * float(np.median(widths)) < high - low < inf:
            widths = np.sort(self._surveys(shape, played, _MORE_SURVEYS)) * shrunk
        return _median(widths)

    def _relative_spread(self, shape: str, users: int) -> float:
        """Standard deviation of the width over its mean; it falls with the root of users."""
        played = min(users, _SPREAD_USERS, self.played.most)
        large = self.mechanism.domain.size > _LARGE
        widths = self._surveys(shape, played, _LARGE_SURVEYS if large else _SPREAD_SURVEYS)
        known = widths[np.isfinite(widths)]
        if known.size < 2 or not known.mean():
            return 0.0
        return float(known.std(ddof=1) / known.mean()) * sqrt(played / users)

    def _surveys(self, shape: str, users: int, count: int) -> Any:
        return np.array([self._asked(self.played.survey(shape, users, number)) for number in range(count)])

    def _asked(self, estimate: Estimate) -> float:
        try:
            return half_width(answer(self.question, estimate), self.in_ranks)
        except QueryError as error:  # nobody holds what is asked about, in this survey or in any
            self.refusals.append(error)
            return inf


def _median(widths: Floats) -> Width:
    """Median and 90% point of sorted widths."""
    if not np.isfinite(widths[widths.size // 2]):
        return Width(inf, inf)
    with np.errstate(invalid="ignore"):  # between surveys without an interval there is no number
        ninety = float(np.quantile(widths, 0.9, method="weibull"))
    return Width(float(np.median(widths)), inf if isnan(ninety) else ninety)


def around_median(widths: Floats) -> tuple[float, float]:
    """The 95% interval of the median of sorted widths, by ranks: n/2 -+ 1.96 root(n)/2."""
    half = Z95 * sqrt(widths.size) / 2
    low, high = int(np.floor(widths.size / 2 - half)), int(np.ceil(widths.size / 2 + half))
    return float(widths[max(low, 0)]), float(widths[min(high, widths.size - 1)])


def half_width(answers: list[Answer], in_ranks: bool = False) -> float:
    """Half the 95% interval; of a table the mean over its cells; infinite where no cell has an interval."""
    widths = [width for each in answers if (width := _of_one(each, in_ranks)) is not None]
    return sum(widths) / len(widths) if widths else inf


def _of_one(each: Answer, in_ranks: bool) -> float | None:
    if in_ranks and each.rank_stderr is not None:
        return Z95 * each.rank_stderr
    return None if each.low is None or each.high is None else (each.high - each.low) / 2
