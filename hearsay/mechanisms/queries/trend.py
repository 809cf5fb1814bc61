"""One answer over many windows: does it rise or fall, does it change at all, and when does it change most?

    x_i    the answer of window i, with standard error s_i and weight w_i = 1/s_i^2
    t_i    the number of the window, from 0; windows in which nothing was collected are counted

`slope`           the weighted least squares line through the x_i, per window.
`any-change`      chi-squared, sum w_i (x_i - mean)^2 with one degree of freedom less than there are windows. It sees
                  changes of any shape, and each of them less clearly than the others see theirs.
`largest-change`  of all splits into windows before and after, the one whose weighted means differ by most standard
                  errors; the answer names the first window after it. Its p-value is the share of 10,000 series drawn
                  without a change, with the same s_i and a fixed seed, in which some split differs as much; the
                  interval is as wide as that law demands, so that it holds no 0 just where p is below 0.05.

Windows must err independently. One test of each kind over all windows: each of 52 windows against the first, at 5%,
would claim a change in 62% of years in which nothing changes.

>>> steps = [TrendPoint(f"w{i}", i, Answer("point tea", value, 0.01)) for i, value in enumerate([0.5, 0.5, 0.6, 0.6])]
>>> slope, any_change, largest = trend("trend point tea", steps)
>>> largest.window, round(largest.value, 3)
('w2', 0.1)
>>> round(slope.value, 3), round(any_change.value, 3)
(0.04, 100.0)
"""

from collections.abc import Iterator, Sequence
from math import erfc, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.queries.answer import Answer

Floats = NDArray[np.float64]
DRAWS, SEED = 10_000, 26
LEVEL = 0.05
VERB, GRAMMAR = "trend", "trend QUERY"
HELP = "over all final windows: slope, any change, and the largest change of a query with one answer"
SLOPE, ANY_CHANGE, LARGEST = "slope", "any-change", "largest-change"
_AT_ONCE = 1 << 20  # numbers drawn at once


class TrendPoint(NamedTuple):
    """The answer of one window, with an error about the population."""

    window: str
    number: float
    answer: Answer


def trend(text: str, points: Sequence[TrendPoint]) -> list[Answer]:
    """Slope, any change and largest change; QueryError where fewer than two windows have an answer with an error."""
    known = [point for point in points if point.answer.value is not None and point.answer.stderr]
    if len(known) < 2:
        raise QueryError(f"trend needs two final windows with an answer and its error, got {len(known)}")
    x = np.array([point.answer.value for point in known])
    weights = np.array([point.answer.stderr for point in known], dtype=np.float64) ** -2
    t = np.array([point.number for point in known], dtype=np.float64)
    return [
        _slope(text, x, weights, t),
        _any_change(text, x, weights),
        _largest_change(text, x, weights, [point.window for point in known]),
    ]


def _slope(text: str, x: Floats, weights: Floats, t: Floats) -> Answer:
    off = t - weights @ t / weights.sum()
    squares = float(weights @ off**2)
    value, stderr = float(weights * off @ x) / squares, 1 / sqrt(squares)
    return Answer(text, value, stderr, SLOPE, p_value=erfc(abs(value) / stderr / sqrt(2)))


def _any_change(text: str, x: Floats, weights: Floats) -> Answer:
    from scipy import stats

    statistic = float(weights @ (x - weights @ x / weights.sum()) ** 2)
    return Answer(text, statistic, None, ANY_CHANGE, p_value=float(stats.chi2.sf(statistic, len(x) - 1)))


def _largest_change(text: str, x: Floats, weights: Floats, windows: Sequence[str]) -> Answer:
    changes, errors = _changes(x[None, :], weights)
    standardised = np.abs(changes[0]) / errors
    split = int(standardised.argmax())
    null = np.sort(np.concatenate([*_null(weights)]))
    exceeding = null.size - int(np.searchsorted(null, standardised[split]))
    critical = float(null[int(np.ceil((1 - LEVEL) * null.size)) - 1])
    value, stderr = float(changes[0, split]), float(errors[split])
    return Answer(
        text,
        value,
        stderr,
        LARGEST,
        interval=(value - critical * stderr, value + critical * stderr),
        p_value=(exceeding + 1) / (null.size + 1),
        window=windows[split + 1],
    )


def _changes(x: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Of every split of each series the mean after less the mean before, and the standard error of that."""
    before, total = np.cumsum(weights)[:-1], weights.sum()
    sums = np.cumsum(weights * x, axis=1)
    first, all_of_it = sums[:, :-1], sums[:, -1:]
    after = total - before
    return (all_of_it - first) / after - first / before, np.sqrt(1 / before + 1 / after)


def _null(weights: Floats) -> Iterator[Floats]:
    """The largest standardised change of series in which nothing changes."""
    generator = np.random.default_rng(SEED)
    step = max(1, _AT_ONCE // weights.size)
    for start in range(0, DRAWS, step):
        drawn = generator.standard_normal((min(step, DRAWS - start), weights.size)) / np.sqrt(weights)
        changes, errors = _changes(drawn, weights)
        yield np.max(np.abs(changes) / errors, axis=1)
