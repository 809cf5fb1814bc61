"""What a question is asked against: other windows of the survey, or a survey of the same domain; and trends.

Windows are taken to err independently. Where devices repeat one noisy answer, the difference of two windows errs less
than is said.
"""

from dataclasses import dataclass
from typing import NamedTuple

from hearsay.collector.store.registry import Registered, Registry, SurveyLook
from hearsay.collector.survey.participation import MEMOISED
from hearsay.collector.survey.windows import ALL, Window
from hearsay.estimator.live import Live, choose
from hearsay.estimator.readings import Readings
from hearsay.mechanisms.changes import in_population
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.queries.trend import VERB, TrendPoint, trend
from hearsay.mechanisms.questions import Question

LAST = "last"


class Selection(NamedTuple):
    """Windows of a survey; no name: those of the survey that is asked."""

    name: str | None
    window: str


def selected(text: str) -> Selection:
    """`WINDOW`, `last:N`, or `NAME:` before either.

    >>> selected("last:7"), selected("likes:20250131T130000Z")
    (Selection(name=None, window='last:7'), Selection(name='likes', window='20250131T130000Z'))
    """
    name, colon, window = text.partition(":")
    if not colon or name == LAST:
        return Selection(None, text)
    return Selection(name, window or ALL)


@dataclass(frozen=True)
class Comparison:
    """Opens the other side of a difference, by what is known of the first."""

    registry: Registry
    readings: Readings

    def other_side(self, registered: Registered, seen: SurveyLook, window: str, against: str) -> Live:
        """What `against` names; QueryError where both sides have reports in common."""
        name, other = selected(against)
        if name is not None and name != registered.survey.name:
            return self.readings.live(self.registry.get(name), other)
        sides = choose(seen, window), choose(seen, other)
        if _repeats(seen) and max(map(len, sides)) > 1:
            raise QueryError(
                what="against",
                must="compare single windows here",
                ending=": devices repeat their report in the next window",
            )
        common = set(sides[0]) & set(sides[1])
        if common:
            first = min(common).name
            raise QueryError(
                what="against",
                must="name windows other than those asked",
                ending=f", {window} and {other} both hold {first}",
            )
        return self.readings.live(registered, other, seen)


def ask_trend(readings: Readings, registered: Registered, seen: SurveyLook, question: Question) -> list[Answer]:
    """The trend of a question over the final windows that have enough reports."""
    if seen.survey.windows.in_rounds:
        raise QueryError(f"{VERB} needs windows of time, and this survey's are rounds of one question")
    if _repeats(seen):
        raise QueryError(
            f"{VERB} needs windows that err independently; this survey's devices repeat, compare two windows"
        )
    windows = sorted(seen.final)
    points = []
    for window in windows:
        current = readings.live(registered, window.name, seen)
        if current.reports >= max(seen.survey.minimum_reports, 1):
            answer = in_population(question, current.estimate())
            points.append(TrendPoint(window.name, _number(window, windows[0], seen), answer))
    return trend(f"{VERB} {question.text}", points)


def _repeats(seen: SurveyLook) -> bool:
    """Whether windows share their noise: then sums of windows and trends err more than is known here."""
    return seen.survey.participation.repeat == MEMOISED


def _number(window: Window, first: Window, seen: SurveyLook) -> float:
    """How many windows after the first, those in which nothing was collected counted."""
    windows = seen.survey.windows
    return float(windows.position(window) - windows.position(first))
