"""Differences of answers, a - b: what changed between two windows, or between two surveys of one domain.

    a, b      the same answer of either side, with intervals la..ha and lb..hb
    d         a - b

**Population.** Intervals elsewhere are about the devices that reported. A change is one of the population that they
were drawn from, so each side's interval is first widened by the error of that draw: n Var is f(1-f) for a share f,
q(1-q) of the rank of a quantile, and the spread of the values for a mean (`Query.population`).

**Ends.** Both sides err independently. Their intervals need not be symmetric: the distance to an end is that of either
side, squared and added (recovery of variance estimates, Zou and Donner 2008),

    low = d - sqrt((a - la)^2 + (hb - b)^2),    high = d + sqrt((ha - a)^2 + (b - lb)^2).

**p-value.** The chance of a difference as large without a change, from the distance between d and the interval's end
towards 0, which is 1.96 standard errors long: p < 0.05 just where the interval does not hold 0. Of many answers,
`p_adjusted` is Holm's: with "changed" said of all whose p_adjusted is below 0.05, one that did not change is among
them in at most 5% of all cases (Holm 1979).

Two sides with standard errors of 0.03 and 0.04 have a difference with one of 0.05:

>>> (drop,) = differences([Answer("point tea", 0.5, 0.03)], [Answer("point tea", 0.35, 0.04)])
>>> [round(number, 4) for number in (drop.value, drop.stderr, drop.low, drop.high, drop.p_value)]
[0.15, 0.05, 0.052, 0.248, 0.0027]
>>> drop.of
(0.5, 0.35)
"""

from collections.abc import Sequence
from dataclasses import replace
from math import erfc, hypot, sqrt

from hearsay.mechanisms.estimates.estimate import Z95
from hearsay.mechanisms.queries.answer import Answer

_INTERVAL = 1.95996  # standard errors of an interval, rounded so that an interval that ends at 0 has no p below 0.05
Ends = tuple[float | None, float | None]


def differences(ones: Sequence[Answer], others: Sequence[Answer]) -> list[Answer]:
    """a - b for answers about the same things, in the same order; with many of them Holm's p-values too."""
    pairs = [difference(a, b) for a, b in zip(ones, others, strict=True)]
    if len(pairs) < 2:
        return pairs
    adjusted = holm([each.p_value for each in pairs])
    return [replace(each, p_adjusted=p) for each, p in zip(pairs, adjusted, strict=True)]


def difference(a: Answer, b: Answer) -> Answer:
    """a - b with its standard error, interval and p-value; unknown where a side is."""
    # The item of a quantile is its own cell, which differs between the sides: the question names it.
    item = a.item if (a.item, a.cell) == (b.item, b.cell) else None
    of, note = (a.value, b.value), a.note or b.note
    if a.value is None or b.value is None:
        return Answer(a.query, None, None, item, a.cell, interval=(None, None), note=note, of=of)
    value = a.value - b.value
    low, high = recovered(value, a, b)
    stderr = None if a.stderr is None or b.stderr is None else hypot(a.stderr, b.stderr)
    p = p_value(value, low, high)
    return Answer(a.query, value, stderr, item, a.cell, interval=(low, high), note=note, of=of, p_value=p)


def recovered(value: float, a: Answer, b: Answer) -> Ends:
    """The ends of the interval of a - b; None where one is not known."""
    low = None if a.low is None or b.high is None else value - hypot(_away(a, a.low), _away(b, b.high))
    high = None if a.high is None or b.low is None else value + hypot(_away(a, a.high), _away(b, b.low))
    return low, high


def p_value(value: float, low: float | None, high: float | None) -> float | None:
    """Two-sided, from the interval's end on the side of 0; None where it is not known."""
    end = low if value > 0 else high
    if end is None:
        return None
    if value == 0:
        return 1.0
    length = abs(value - end)
    return erfc(_INTERVAL * abs(value) / length / sqrt(2)) if length > 0 else 0.0


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p-values; those that are unknown stay so and are not counted.

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    ordered = sorted((p, number) for number, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, number) in enumerate(ordered):
        largest = max(largest, min(1.0, (len(ordered) - rank) * p))
        adjusted[number] = largest
    return adjusted


def widened(answer: Answer, variance: float) -> Answer:
    """The answer with an independent error of this variance added to its own."""
    if answer.value is None or answer.stderr is None or variance <= 0:
        return answer
    more = Z95 * sqrt(variance)
    low = None if answer.low is None else answer.value - hypot(_away(answer, answer.low), more)
    high = None if answer.high is None else answer.value + hypot(_away(answer, answer.high), more)
    return replace(answer, stderr=hypot(answer.stderr, sqrt(variance)), interval=(low, high))


def _away(answer: Answer, end: float) -> float:
    """How far an end is from the value."""
    assert answer.value is not None
    return abs(answer.value - end)
