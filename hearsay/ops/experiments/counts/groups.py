"""Figures 6.9 to 6.17: errors on groups, simulated and exact.

People with one private bit each are put into groups; every group's count is released. What is measured is a loss per
group, averaged over groups and runs; its exact expectation is known from the matrix and the distribution of counts,
and a measured mean must lie within 6 of its standard errors of it.
"""

from collections.abc import Callable
from math import comb, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.counts.draw import release
from hearsay.mechanisms.exact.randomness import Random
from hearsay.ops.experiments.counts.contenders import Contender
from hearsay.ops.experiments.flights import flight_package

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
PEOPLE = 10_000
STANDARD_ERRORS = 6


class Measure(NamedTuple):
    """A loss of an error; `root` shows the square root of its mean."""

    name: str
    loss: Callable[[Floats], Floats]
    root: bool = False


class Measured(NamedTuple):
    """A mean loss, its standard deviation over runs, the exact mean, and how many standard errors lie between."""

    value: float
    spread: float
    exact: float
    off: float


def power_beyond(power: int, beyond: int) -> Measure:
    """The p-th power of errors above d; for p = 0 how often there is one."""

    def loss(error: Floats) -> Floats:
        size = np.abs(error)
        return (size > beyond) * (size**power if power else 1.0)

    return Measure(f"L{power},{beyond}" if beyond else f"L{power}", loss)


RMSE = Measure("RMSE", lambda error: error**2, root=True)


def binomial(largest: int, p: float) -> Floats:
    """The distribution of a group's count where everybody has a one with probability p."""
    return np.array([comb(largest, count) * p**count * (1 - p) ** (largest - count) for count in range(largest + 1)])


def binomial_groups(largest: int, p: float, generator: np.random.Generator) -> Counts:
    """Ten thousand people in groups of n; those left over are left out."""
    bits = generator.random((PEOPLE // largest, largest)) < p
    return bits.sum(axis=1, dtype=np.int64)


def measure(
    contender: Contender, measures: list[Measure], groups: list[Counts], shares: Floats | None, random: Random
) -> list[Measured]:
    """Losses over runs, one list of group counts each; without their distribution, given these very counts."""
    losses: list[list[float]] = [[] for _ in measures]
    for counts in groups:
        error = (release(contender.whole, counts, random) - counts).astype(np.float64)
        for means, one in zip(losses, measures, strict=True):
            means.append(float(one.loss(error).mean()))
    total = sum(counts.size for counts in groups)
    if shares is None:
        everyone = np.concatenate(groups)
        shares = np.bincount(everyone, minlength=len(contender.whole)) / everyone.size
    return [_judged(contender, one, means, shares, total) for one, means in zip(measures, losses, strict=True)]


def _judged(contender: Contender, one: Measure, means: list[float], shares: Floats, total: int) -> Measured:
    largest = len(contender.whole) - 1
    error = np.arange(largest + 1)[:, None] - np.arange(largest + 1)
    joint, loss = contender.shares * shares, one.loss(error.astype(np.float64))
    exact = float((joint * loss).sum())
    noise = sqrt(max(float((joint * loss**2).sum()) - exact**2, 1e-12) / total)
    mean = float(np.mean(means))
    off = abs(mean - exact) / noise
    if one.root:
        return Measured(sqrt(mean), float(np.std(np.sqrt(means))), sqrt(exact), off)
    return Measured(mean, float(np.std(means)), exact, off)


def flight_bits() -> dict[str, NDArray[np.bool_]]:
    """Three private bits of every flight that left New York in 2013, in the order of the table."""
    table = flight_package().flights
    return {
        "left late": table["dep_delay"].to_numpy(dtype=np.float64) > 15,
        "1,000 miles or more": table["distance"].to_numpy(dtype=np.float64) >= 1000,
        "from JFK": (table["origin"] == "JFK").to_numpy(dtype=bool),
    }
