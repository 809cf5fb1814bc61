"""How long a device takes by value: two values that must not be told apart should take the same time.

Values are reported in turns, in an order that turns too, so that a busy machine slows all of them alike; processor time
is counted. A run is the mean of the middle of some reports of each value; the difference is that of the runs' means,
its standard error over the runs. Of the many pairs of all mechanisms some look different by chance: the pair of
a mechanism that differs most, if by 1% or more, is measured again by itself, with more reports, and that counts.

What is timed is what a device does: it reads a value in the survey's own units, perturbs it and encodes the report.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from time import thread_time_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.collector.wire.codec import codec
from hearsay.mechanisms import Mechanism
from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.exact.randomness import secure
from hearsay.mechanisms.guarantees.promises import PureLDP
from hearsay.mechanisms.key_value.domain import KeyValue
from hearsay.mechanisms.key_value.pairs import Pairs
from hearsay.ops.audit.events import rows_of
from hearsay.ops.audit.singles import own_units

RUNS, REPORTS, VALUES = 12, 30, 4
RUNS_AGAIN, REPORTS_AGAIN = 24, 100
MIDDLE = 0.8  # of the reports of a run: the others were interrupted, or drew something rare
LARGEST_SHARE, LARGEST_ERRORS = 0.01, 3.0


@dataclass(frozen=True)
class Timing:
    """The pair of values whose times differ most."""

    values: tuple[int, int]
    microseconds: float
    share: float  # of the time that they differ by
    errors: float  # the same in standard errors

    @property
    def is_apart(self) -> bool:
        """Whether it is neither small nor chance."""
        return self.share >= LARGEST_SHARE and self.errors >= LARGEST_ERRORS

    @property
    def words(self) -> str:
        """Whether that is nothing, or why not."""
        if self.share < LARGEST_SHARE and self.errors < LARGEST_ERRORS:
            return "the same"
        if self.errors < LARGEST_ERRORS:
            return "within the noise of this machine"
        if self.share < LARGEST_SHARE:
            return "below 1%: reading other digits or labels takes other steps inside numpy"
        return "differs: some step of this device depends on the value"


def timing(mechanism: Mechanism) -> Timing | None:
    """The largest difference among some values that the guarantee covers; None where it covers no pair."""
    listed = mechanism.listed_values()
    size = mechanism.domain.size if listed is None else len(listed)
    places = _within_capacity(mechanism, listed, size)
    size = len(places)
    chosen = sorted({places[at] for at in (0, size // 3, size // 2, size - 1)})[:VALUES]
    pairs = list(combinations(chosen, 2))
    if not isinstance(mechanism.guarantee, PureLDP) and isinstance(mechanism.domain, Cells):
        bound = mechanism.guarantee.matrix(mechanism.domain)
        pairs = [pair for pair in pairs if np.isfinite(bound[pair])]
    if not pairs:
        return None
    report = _reporter(mechanism, listed, chosen)
    worst = _worst(_measured(report, chosen, RUNS, REPORTS), chosen, pairs)
    if worst.share < LARGEST_SHARE:
        return worst
    return _worst(_measured(report, list(worst.values), RUNS_AGAIN, REPORTS_AGAIN), list(worst.values), [worst.values])


def _within_capacity(mechanism: Mechanism, listed: Any, size: int) -> list[int]:
    """The values that a device may hold: of sets those with as many pairs as the survey allows, larger ones show."""
    if not isinstance(mechanism.domain, KeyValue):
        return list(range(size))
    return np.flatnonzero(listed.sizes <= mechanism.domain.capacity).tolist()


def _measured(report: Callable[[int], bytes], chosen: list[int], runs: int, reports: int) -> NDArray[np.float64]:
    """Microseconds of a report, by run and value."""
    times = np.zeros((runs, len(chosen), reports))
    for run in range(runs):
        for number in range(reports):
            for turn in range(len(chosen)):
                value = (turn + number) % len(chosen)
                began = thread_time_ns()
                report(chosen[value])
                times[run, value, number] = (thread_time_ns() - began) / 1000
    cut = round((1 - MIDDLE) / 2 * reports)
    return np.asarray(np.sort(times, axis=2)[:, :, cut : reports - cut].mean(axis=2))


def _worst(times: NDArray[np.float64], chosen: list[int], pairs: list[tuple[int, int]]) -> Timing:
    """The pair that differs most beyond what chance explains."""
    every = [_compared(times, chosen, pair) for pair in pairs]
    return max(every, key=lambda each: (each.is_apart, each.share))


def _reporter(mechanism: Mechanism, listed: Any, chosen: list[int]) -> Callable[[int], bytes]:
    """Reports of the chosen values, each given to the device as a person gives it."""
    domain, random, encode = mechanism.domain, secure(), codec(mechanism).encode_singles
    if isinstance(domain, Cells | KeyValue):
        given = {value: _given(domain, listed, value) for value in chosen}
        return lambda value: encode(mechanism.perturb(domain.one(given[value]), random))[0]
    rows = {value: rows_of(mechanism, np.array([value])) for value in chosen}
    return lambda value: encode(mechanism.perturb(rows[value], random))[0]


def _given(domain: Cells | KeyValue, listed: Any, value: int) -> Any:
    return own_units(domain, value) if isinstance(domain, Cells) else own_pairs(domain, listed[value : value + 1])


def own_pairs(domain: KeyValue, pairs: Pairs) -> Any:
    """The pairs of one device as its program gives them: keys in their own units, with their values."""
    keys = [tuple(str(part) for part in _key(domain, key)) for key in pairs.keys.tolist()]
    named = [key[0] if len(key) == 1 else key for key in keys]
    if not domain.values:
        return named
    rows = zip(
        *(axis.units(pairs.values[:, number]).tolist() for number, axis in enumerate(domain.values)), strict=True
    )
    return dict(zip(named, (row[0] if len(row) == 1 else row for row in rows), strict=True))


def _key(domain: KeyValue, key: int) -> list[Any]:
    item, cell = domain.name(key)
    return [item] if cell is None else list(cell.values())


def _compared(times: NDArray[np.float64], chosen: list[int], pair: tuple[int, int]) -> Timing:
    one, other = (times[:, chosen.index(value)] for value in pair)
    apart, level = one - other, float(times.mean())
    error = float(apart.std(ddof=1) / np.sqrt(len(apart)))
    return Timing(pair, level, abs(float(apart.mean())) / level, abs(float(apart.mean())) / max(error, 1e-9))
