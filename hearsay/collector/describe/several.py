"""Several surveys of the same users: split every user's budget among all, or split the users among the surveys."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import exp, log
from typing import Any

import numpy as np

from hearsay.collector.errors import SurveyError
from hearsay.collector.survey.survey import Survey
from hearsay.mechanisms.planning.asked import Asked
from hearsay.mechanisms.planning.drawn_states import play
from hearsay.mechanisms.planning.plan import Target, plan

BUDGET, USERS = "split the budget", "split the users"
_SMALL = 200  # people for whom a survey's first question is looked up


@dataclass(frozen=True)
class Split:
    """One survey's half widths: alone with all users and the whole budget, and each way of sharing them."""

    survey: str
    query: str
    mechanism: str
    alone: float | None
    split_budget: float | None  # all users, a part of the budget
    split_users: float | None  # a part of the users, the whole budget
    recommended: str
    reason: str

    def table(self) -> dict[str, Any]:
        return asdict(self)


def plan_several(surveys: Sequence[Survey], users: int, budget: float, query: str | None = None) -> list[Split]:
    """A row for each survey; one way is recommended for all of them, by the mean of the widths' logarithms."""
    if len(surveys) < 2:
        raise SurveyError("a budget is split among several surveys, got one")
    count = len(surveys)
    if users < count:
        raise SurveyError(what="users", expected=f"at least {count}, one for each survey", got=users)
    rows = []
    for survey in surveys:
        question = query or _first_question(survey)
        widths = (
            _width(survey, question, users, budget),
            _width(survey, question, users, budget / count),
            _width(survey, question, users // count, budget),
        )
        rows.append((survey, question, widths))
    ratios = [log(split / by_users) for _, _, (_, split, by_users) in rows if split and by_users]
    ratio = exp(sum(ratios) / len(ratios)) if ratios else 1.0
    way = BUDGET if ratio < 1 else USERS
    other = USERS if way == BUDGET else BUDGET
    reason = f"to {other} makes intervals {max(ratio, 1 / ratio):.2f} times as wide on average"
    return [
        Split(survey.name, question, survey.mechanism.ID, *widths, way, reason) for survey, question, widths in rows
    ]


def _width(survey: Survey, question: str, users: int, epsilon: float) -> float | None:
    chosen = survey.mechanism
    options = {} if survey.reason is not None else chosen.lasting_options()  # "auto" has settled nothing
    asked = Asked.of(chosen.domain, question, [chosen.ID], {chosen.ID: options})
    (row,) = plan(asked, Target(users, epsilon))
    return row.within


def _first_question(survey: Survey) -> str:
    """What every snapshot of the survey is asked first."""
    people = survey.mechanism.domain.simulated(survey.mechanism.domain.shapes()[0], _SMALL, np.random.default_rng(1))
    mechanism, state = play(survey.mechanism, people, np.random.default_rng(1))
    return mechanism.estimate(state).headline()[0]
