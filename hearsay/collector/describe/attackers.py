"""How much false senders can move an answer (Cheu, Smith and Ullman 2021 call it manipulation).

Nobody can tell a false report from a true one. K false reports among N move an answer by at most K/N times the span of
one report's contribution, where answers are divided by N. Where they are divided by counts that false reports raise as
well, it is 1 + c times as much, c the correlation of the coin, and twice as much in the worst state.
"""

from typing import Any

from hearsay.collector.errors import SurveyError
from hearsay.collector.survey.survey import Survey
from hearsay.mechanisms.estimates.ranges import middle_half

WORST = 2.0


def moved_by(survey: Survey, attackers: int, users: int) -> dict[str, Any]:
    """By kind of query, the most by which so many false senders among all users move an answer."""
    if not 0 <= attackers <= users or users < 1:
        raise SurveyError(
            what="attackers", expected="a number in 0..users, and users at least 1", got=f"{attackers} and {users}"
        )
    mechanism = survey.mechanism
    spans, factor = mechanism.report_spans(), mechanism.raised_norms
    share = attackers / users
    moved: dict[str, Any] = {kind: share * span * factor for kind, span in spans.items()}
    table = {"attackers": attackers, "users": users, **moved, "raised_norms": factor}
    if "range" in moved:
        x, y = middle_half(mechanism.domain.size)
        table["range_cells"] = [x, y - 1]
    return {**table, "words": _words(table, moved)}


def _words(table: dict[str, Any], moved: dict[str, float]) -> str:
    number = table["attackers"]
    senders = f"{number:,} false sender{'' if number == 1 else 's'} among {table['users']:,} can move an answer"
    if not moved:
        return f"How much {senders} is not known for this mechanism."
    each = ", ".join(f"{kind} by {by:.4g}" for kind, by in moved.items())
    words = f"{senders}, before any post-processing, by at most: {each}."
    if "range_cells" in table:
        words += " The range is cells {} to {}.".format(*table["range_cells"])
    if table["raised_norms"] > 1:
        words += f" In the worst state it is {WORST / table['raised_norms']:.3g} times as much."
    return words
