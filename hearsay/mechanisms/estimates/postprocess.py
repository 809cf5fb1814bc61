"""Making estimated shares look like shares: asked for by name, labelled, and never in place of the raw values.

Raw shares are unbiased but may be negative and need not sum to one. Every method here is biased, most for rare values.

none      the unbiased shares as they are
clip      each share cut to 0..1; the sum is no longer one, and rare values are overstated
norm-sub  the same amount taken off every share, what falls below zero set to zero, so that the sum is one
          (Wang et al. 2020)
simplex   the nearest point with shares >= 0 and sum one, in squared error
isotonic  for cumulative shares: the nearest ones, in squared error, that never fall and stay in 0..1
smooth    for cumulative shares of `hierarchical`: a smooth density through all levels, with a band of its own

norm-sub's common amount is the projection's Lagrange multiplier: both names give the same point. They are kept apart
because people ask for either.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import QueryError

Floats = NDArray[np.float64]

METHODS = ("none", "clip", "norm-sub", "simplex")  # of the shares of cells
ISOTONIC = "isotonic"
SMOOTH = "smooth"
SUM_TO_ONE = ("norm-sub", "simplex")  # methods that make them so
NAMES = (*METHODS, ISOTONIC)
WITH_INTERVAL = (SMOOTH,)  # methods whose answers have an interval of their own, not that of the raw value
NEEDED_FOR_SMOOTH = "smooth needs mechanism hierarchical, with consistency, on an ordinal domain of 32..65536 cells"
_OWN_UP_TO = 1 << 16
_MANY_FALLS = 50  # runs are pooled together while one in so many neighbours falls


@dataclass(frozen=True)
class Processed:
    """Processed shares with the name of what was done to them."""

    method: str
    values: Floats


def unsuited(method: str, domain: Domain) -> str | None:
    """Why a method has no meaning on a domain, whatever the reports; None: it has."""
    if method in SUM_TO_ONE and not domain.EXCLUSIVE:
        return (
            f"{method} makes shares sum to one, but a device of a {domain.kind} survey may hold several keys: "
            "use clip or none"
        )
    return None


def process(shares: Floats, method: str) -> Processed:
    """Shares of any shape after the method named."""
    match method:
        case "none":
            return Processed(method, shares.copy())
        case "clip":
            return Processed(method, np.clip(shares, 0.0, 1.0))
        case "norm-sub" | "simplex":
            return Processed(method, project(shares.reshape(-1)).reshape(shares.shape))
    raise QueryError(what="postprocess", expected=f"one of {', '.join(METHODS)}", got=repr(method))


def isotonic(cumulative: Floats) -> Floats:
    """Cumulative shares that never fall, within 0..1: what neighbours contradict is averaged (Barlow et al. 1972)."""
    return np.clip(_nearest_rising(cumulative), 0.0, 1.0)


def _nearest_rising(values: Floats) -> Floats:
    """By scipy where values are many and it is there: a simulation goes without it."""
    if values.size > _OWN_UP_TO:
        try:
            from scipy.optimize import isotonic_regression
        except ImportError:
            pass
        else:
            rising: Floats = isotonic_regression(values).x
            return rising
    return pooled(values)


def pooled(values: Floats) -> Floats:
    """Pool neighbours that fall until none does: whole falling runs at once while they are many, then one by one."""
    means, weights = values.astype(np.float64), np.ones(values.size)
    while True:
        falls = means[1:] < means[:-1]
        if np.count_nonzero(falls) * _MANY_FALLS <= means.size:
            break
        starts = np.flatnonzero(np.append(True, ~falls))
        totals, weights = np.add.reduceat(means * weights, starts), np.add.reduceat(weights, starts)
        means = totals / weights
    done: list[tuple[float, float]] = []
    for mean, weight in zip(means.tolist(), weights.tolist(), strict=True):
        while done and done[-1][0] > mean:
            before, heavy = done.pop()
            mean, weight = (mean * weight + before * heavy) / (weight + heavy), weight + heavy
        done.append((mean, weight))
    means, weights = np.array(done).T
    return np.repeat(means, weights.astype(np.int64))


def project(shares: Floats, total: float = 1.0) -> Floats:
    """The nearest vector with entries >= 0 and the given sum.

    The shares that stay positive are the largest ones; with k of them the amount taken off is their excess over the
    total, divided by k. The right k is the last for which its smallest share is above that amount. Where a share is
    unknown no other can be said.
    """
    if not np.isfinite(shares).all():
        return np.full_like(shares, np.nan)
    if not shares.size:
        return shares.copy()
    largest_first = np.sort(shares)[::-1]
    amounts = (np.cumsum(largest_first) - total) / np.arange(1, shares.size + 1)
    positive = np.flatnonzero(largest_first > amounts)
    if not positive.size:  # shares so large that the total is lost in rounding; a shift of all changes nothing
        return project(shares - largest_first[0], total)
    kept = int(positive[-1])
    return np.maximum(shares - amounts[kept], 0.0)
