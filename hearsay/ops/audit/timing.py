"""How long a device takes by value: two values that must not be told apart should take the same time.

Values are reported in turns, so that a busy machine slows all of them alike, and processor time is counted. A run is
the median of some reports of each value; the difference is that of the runs' means, its standard error over the runs.
Pairs are given to the device as a person gives them, but for mechanisms with rounds, which answer only once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from time import thread_time_ns
from typing import Any

import numpy as np

from hearsay.collector.survey.survey import Survey
from hearsay.mechanisms import Mechanism
from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.exact.randomness import secure
from hearsay.mechanisms.guarantees.promises import PureLDP
from hearsay.mechanisms.key_value.domain import KeyValue
from hearsay.ops.audit.singles import Crowd, Voice

RUNS, REPORTS, VALUES = 12, 30, 4
LARGEST_SHARE, LARGEST_ERRORS = 0.01, 3.0


@dataclass(frozen=True)
class Timing:
    """The pair of values whose times differ most."""

    values: tuple[int, int]
    microseconds: float
    share: float  # of the time that they differ by
    errors: float  # the same in standard errors

    @property
    def words(self) -> str:
        """Whether that is nothing, or why not."""
        if self.share < LARGEST_SHARE and self.errors < LARGEST_ERRORS:
            return "the same"
        if self.errors < LARGEST_ERRORS:
            return "within the noise of this machine"
        if self.share < LARGEST_SHARE:
            return "below 1%: reading other digits or labels takes other steps inside numpy"
        return "differs: reading the value, or a cell that is drawn again, takes longer for one of them"


def timing(mechanism: Mechanism) -> Timing | None:
    """The largest difference among some values that the guarantee covers; None where it covers no pair."""
    listed = mechanism.listed_values()
    size = mechanism.domain.size if listed is None else len(listed)
    chosen = sorted({0, size // 3, size // 2, size - 1})[:VALUES]
    pairs = list(combinations(chosen, 2))
    if not isinstance(mechanism.guarantee, PureLDP) and isinstance(mechanism.domain, Cells):
        bound = mechanism.guarantee.matrix(mechanism.domain)
        pairs = [pair for pair in pairs if np.isfinite(bound[pair])]
    if not pairs:
        return None
    report = _reporter(mechanism, listed, chosen)
    times = np.zeros((RUNS, len(chosen), REPORTS))
    for run in range(RUNS):
        for number in range(REPORTS):
            for place, value in enumerate(chosen):
                began = thread_time_ns()
                report(value)
                times[run, place, number] = (thread_time_ns() - began) / 1000
    medians = np.median(times, axis=2)
    worst = max((_compared(medians, chosen, pair) for pair in pairs), key=lambda each: each.share)
    return worst


def _reporter(mechanism: Mechanism, listed: Any, chosen: list[int]) -> Callable[[int], bytes]:
    domain, survey = mechanism.domain, Survey("audit", mechanism, None, None, 1)
    if not isinstance(domain, KeyValue) or len(domain.keys) > 1 or domain.dimensions > 1 or survey.windows.in_rounds:
        return Voice(mechanism, secure()).report
    device = Crowd(survey)
    given: dict[int, Any] = {}
    for value in chosen:
        held = listed[value : value + 1]
        keys = [str(domain.name(key)[0]) for key in held.keys.tolist()]
        units = domain.values[0].units(held.values[:, 0]).tolist() if domain.values else []
        given[value] = dict(zip(keys, units, strict=True)) if domain.values else keys
    return lambda value: device.report(given[value])


def _compared(medians: np.ndarray, chosen: list[int], pair: tuple[int, int]) -> Timing:
    one, other = (medians[:, chosen.index(value)] for value in pair)
    apart, level = one - other, float(medians.mean())
    error = float(apart.std(ddof=1) / np.sqrt(len(apart)))
    return Timing(pair, level, abs(float(apart.mean())) / level, abs(float(apart.mean())) / max(error, 1e-9))
