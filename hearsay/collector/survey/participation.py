"""How often a device takes part in a survey, and what that costs it over its life.

once          one report, or one per round where the survey has rounds
every-window  one report per window; the losses add up, without bound unless `lifetime_epsilon` ends it
sampled       one window of every `of`, drawn by the device, with all of epsilon
memoised      one report per window; the public part is drawn once for life, the answer once for each of g buckets

A survey file that says nothing is read as `once` where it has one window, and as `every-window` where it has many. The
table is part of the tag only where the file has it. A device's ledger keeps these rules (`hearsay.producer.budget`);
nothing else can, since the collector does not know who sent a report.
"""

from dataclasses import dataclass
from math import isfinite
from typing import Any

from hearsay.collector.errors import SurveyError
from hearsay.collector.survey.windows import Windows

ONCE, EVERY_WINDOW, SAMPLED, MEMOISED = "once", "every-window", "sampled", "memoised"
REPEATS = (ONCE, EVERY_WINDOW, SAMPLED, MEMOISED)
ALL_ROUNDS = "for all rounds together"  # what epsilon is spent for where a survey has rounds
_DAY_S = 86_400
_SLACK = 1e-12  # sums of a float round


@dataclass(frozen=True)
class Participation:
    """`of` belongs to `sampled`. `lifetime_epsilon` is the most that a device spends under the survey's name.

    `stated` says whether the survey file has the table.
    """

    repeat: str
    of: int | None = None
    lifetime_epsilon: float | None = None
    stated: bool = True

    def check(self, epsilon: float, windows: Windows, buckets: int | None = None) -> None:
        """SurveyError where it does not fit the survey; `buckets` is g where the mechanism can be memoised."""
        if self.repeat != ONCE and not windows.timed:
            raise SurveyError(
                what="participation.repeat", expected=f"{ONCE!r} without window.every", got=repr(self.repeat)
            )
        if self.repeat == MEMOISED and buckets is None:
            raise SurveyError(
                "participation.repeat 'memoised' needs a mechanism whose reports are a public part and an answer about "
                "one of a few buckets: hrr, olh, haar on one axis, hierarchical over hrr or olh, inp-ht, marg-ps, or "
                "privkv with a joint budget"
            )
        if self.repeat == SAMPLED and self.of is None:
            raise SurveyError("participation.of is missing: one window of how many; an integer from 2 on")
        if self.repeat != SAMPLED and self.of is not None:
            raise SurveyError(what="participation.of", expected=f"left out with repeat {self.repeat!r}", got=self.of)
        limit = self.lifetime_epsilon
        if limit is None:
            return
        least = epsilon * self.charges(0, buckets)
        if not isfinite(limit) or not is_within(least, limit):
            buys = (
                "one report"
                if self.repeat != MEMOISED
                else f"a life: epsilon {epsilon:g} for each of {buckets} buckets"
            )
            raise SurveyError(
                what="participation.lifetime_epsilon", expected=f"at least {least:g}, {buys}", got=repr(limit)
            )

    def charges(self, spent: int, buckets: int | None) -> int:
        """How many times epsilon the next report spends, after `spent` times. A memoised life is paid for at once: its
        later costs would tell when the bucket changed."""
        if self.repeat != MEMOISED:
            return 1
        assert buckets is not None
        return 0 if spent else buckets

    def table(self) -> dict[str, Any]:
        """As the survey file has it."""
        rest = {"of": self.of, "lifetime_epsilon": self.lifetime_epsilon}
        return {"repeat": self.repeat, **{name: value for name, value in rest.items() if value is not None}}

    def per_day(self, epsilon: float, windows: Windows, buckets: int | None = None) -> float:
        """The most that any day's reports spend together, a day being as many windows as 24 hours meet."""
        if self.repeat == ONCE:
            return epsilon
        if self.repeat == MEMOISED:
            return epsilon * self.charges(0, buckets)
        reports = max(1, -(-1_000 * _DAY_S // windows.every_ms))
        if self.of is not None:
            reports = min(reports, -(-(reports - 1) // self.of) + 1)  # so many groups of `of` windows meet the day
        per_day = epsilon * reports
        return per_day if self.lifetime_epsilon is None else min(per_day, self.lifetime_epsilon)

    def lifetime(self, epsilon: float, buckets: int | None = None) -> float | None:
        """The most that a life of reports spends; None: there is no bound."""
        once_for_life = self.repeat in (ONCE, MEMOISED)
        return epsilon * self.charges(0, buckets) if once_for_life else self.lifetime_epsilon

    def describe(self, epsilon: float, windows: Windows, buckets: int | None = None) -> dict[str, Any]:
        """The rules and the losses as data and in words; `warning` where a life has no bound."""
        per_day, lifetime = self.per_day(epsilon, windows, buckets), self.lifetime(epsilon, buckets)
        loss = {"per_report": epsilon, "per_day": per_day, "lifetime": lifetime}
        bound = "without bound" if lifetime is None else f"at most {lifetime:g}"
        spent = f"{epsilon:g} per report, at most {per_day:,g} per day, {bound} over a life"
        if windows.in_rounds:
            spent = f"{epsilon:g} {ALL_ROUNDS}"
        words = f"{self._rule(windows)} Epsilon spent: {spent}."
        described = {**self.table(), "stated": self.stated, "loss": loss, "words": words}
        if lifetime is None:
            described["warning"] = (
                f"a device that answers for a year spends up to {365 * per_day:,.10g}: averaging its reports reveals "
                f"its value. Set lifetime_epsilon, or repeat = {ONCE!r}, under [participation]"
            )
        return described

    def _rule(self, windows: Windows) -> str:
        if self.repeat == ONCE:
            return "A device answers once." if not windows.in_rounds else "A device answers each round at most once."
        if self.repeat == SAMPLED:
            return f"A device answers in one window of every {self.of}, which it draws itself."
        if self.repeat == MEMOISED:
            return (
                "A device answers once in every window and repeats itself: its public part is drawn once for life, its "
                "answer once for each bucket. Hidden is which buckets it was in, not that its bucket changed; the "
                "public part is a pseudonym that connects its reports. Its noise repeats: several windows together "
                "tell no more than one."
            )
        return "A device answers once in every window."


def unstated(windows: Windows) -> Participation:
    """What a survey file without the table means."""
    return Participation(EVERY_WINDOW if windows.timed else ONCE, stated=False)


def is_within(spent: float, limit: float) -> bool:
    """Whether a sum stays within a limit, but for what floats round."""
    return spent <= limit * (1 + _SLACK)
