"""Whether reports follow the channel that a mechanism states: every value, every output, through the bytes it sends.

A report's wire number is its place among all reports. For each value the numbers seen are compared with the channel's
row in two ways: chi-squared over outputs that are expected often enough (rare ones taken together), and for each output
the exact binomial chance of so many or so few. The smaller of the two counts, doubled, and times the number of values
and of ways to draw: if all is well, the least of all is below 1 - confidence no more often than that.
"""

from dataclasses import dataclass

import msgpack
import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, chdtrc

from hearsay.collector.wire.codec import Codec, codec
from hearsay.mechanisms import Mechanism, Reports
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.layout import length_of, select
from hearsay.ops.audit.events import rows_of
from hearsay.ops.audit.singles import Voice

MAXIMUM_OUTCOMES, MAXIMUM_ENTRIES = 1 << 14, 1 << 20  # a larger channel is not listed
_BATCH_DRAWS, _SINGLE_DRAWS, _LEAST_SINGLES = 200_000, 1_500, 12  # of all values together; singles of each at least
_EXPECTED = 10.0  # expected reports of an output below which chi-squared groups it with others
_WAYS = ("batches", "single reports")


@dataclass(frozen=True)
class Fit:
    """The value whose reports fit the channel worst, and how likely that is, counting all values and ways."""

    value: int
    way: str
    chance: float


def worst_fit(mechanism: Mechanism, values: int, draws: int, random: Random) -> Fit | None:
    """None where the channel cannot be listed."""
    channel = listed_channel(mechanism, values)
    if channel is None:
        return None
    wire, voice = codec(mechanism), Voice(mechanism, random)
    each = max(1, min(draws, _BATCH_DRAWS // values))
    singles = max(_LEAST_SINGLES, _SINGLE_DRAWS // values)
    worst = Fit(0, _WAYS[0], 1.0)
    for value, chances in enumerate(channel):
        reports = mechanism.perturb(rows_of(mechanism, np.full(each, value)), random)
        single_reports = np.array([msgpack.unpackb(voice.report(value)) for _ in range(singles)], dtype=np.int64)
        for way, numbers in zip(_WAYS, (_numbers(wire, reports), single_reports), strict=True):
            chance = misfit(np.bincount(numbers, minlength=chances.size), chances)
            worst = min(worst, Fit(value, way, chance), key=lambda fit: fit.chance)
    return Fit(worst.value, worst.way, min(1.0, worst.chance * values * len(_WAYS)))


def listed_channel(mechanism: Mechanism, values: int) -> Floats | None:
    """The channel, a row for every value, where it is small enough."""
    outcomes = mechanism.layout.outcomes
    if outcomes > MAXIMUM_OUTCOMES or outcomes * values > MAXIMUM_ENTRIES:
        return None
    try:
        channel = mechanism.channel()
    except SpecificationError:
        return None
    return channel if channel.shape == (values, outcomes) else None


def misfit(counts: NDArray[np.int64], chances: Floats) -> float:
    """The p-value of these counts under these probabilities."""
    possible = chances > 0
    if counts.size > chances.size or counts[~possible].any():
        return 0.0
    counts, chances, n = counts[possible], chances[possible], int(counts.sum())
    so_many = np.where(counts > 0, bdtrc(np.maximum(counts - 1, 0), n, chances), 1.0)
    rare = 2 * counts.size * float(min(so_many.min(), bdtr(counts, n, chances).min()))
    return min(1.0, 2 * min(rare, _chi_squared(counts, n * chances)))


def _chi_squared(counts: NDArray[np.int64], expected: Floats) -> float:
    order = np.argsort(-expected, kind="stable")
    together = np.floor(np.cumsum(expected[order]) / _EXPECTED).astype(np.int64)
    often = expected[order] >= _EXPECTED
    group = np.where(often, np.arange(order.size), order.size + together)
    _, group = np.unique(group, return_inverse=True)
    seen = np.bincount(group.reshape(-1), weights=counts[order])
    wanted = np.bincount(group.reshape(-1), weights=expected[order])
    if wanted.size > 1 and wanted[-1] < _EXPECTED:  # the last group may be a small rest
        seen, wanted = (np.append(each[:-2], each[-2:].sum()) for each in (seen, wanted))
    return float(chdtrc(wanted.size - 1, ((seen - wanted) ** 2 / wanted).sum())) if wanted.size > 1 else 1.0


def _numbers(wire: Codec, reports: Reports) -> NDArray[np.int64]:
    """The wire number of every report, in any order."""
    if wire.layout.selector is None:
        return wire.variants[0].symbols(reports).astype(np.int64)
    chosen = reports[wire.layout.selector]
    parts = [
        wire.variants[index].symbols(select(reports, chosen == index)) + wire.offsets[index]
        for index in np.unique(chosen).tolist()
    ]
    numbers: NDArray[np.int64] = np.concatenate(parts).astype(np.int64)
    assert numbers.size == length_of(reports)
    return numbers
