"""Making estimated shares look like shares: asked for by name, labelled, and never in place of the raw values.

Raw shares are unbiased but may be negative and need not sum to one. Every method here is biased, most for rare values.

none      the unbiased shares as they are
clip      each share cut to 0..1; the sum is no longer one, and rare values are overstated
norm-sub  the same amount taken off every share, what falls below zero set to zero, so that the sum is one
          (Wang et al. 2020)
simplex   the nearest point with shares >= 0 and sum one, in squared error
isotonic  for cumulative shares: the nearest ones, in squared error, that never fall and stay in 0..1

norm-sub's common amount is the projection's Lagrange multiplier: both names give the same point. They are kept apart
because people ask for either.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.errors import QueryError

Floats = NDArray[np.float64]

METHODS = ("none", "clip", "norm-sub", "simplex")  # of the shares of cells
ISOTONIC = "isotonic"
NAMES = (*METHODS, ISOTONIC)


@dataclass(frozen=True)
class Processed:
    """Processed shares with the name of what was done to them."""

    method: str
    values: Floats


def process(shares: Floats, method: str) -> Processed:
    """Shares of any shape after the method named."""
    match method:
        case "none":
            return Processed(method, shares.copy())
        case "clip":
            return Processed(method, np.clip(shares, 0.0, 1.0))
        case "norm-sub" | "simplex":
            return Processed(method, project(shares.reshape(-1)).reshape(shares.shape))
    raise QueryError(f"postprocess must be one of {', '.join(METHODS)}, got {method!r}")


def isotonic(cumulative: Floats) -> Floats:
    """Cumulative shares that never fall, within 0..1: what neighbours contradict is averaged (Barlow et al. 1972)."""
    from scipy.optimize import isotonic_regression  # devices read surveys too, and have no use for scipy

    rising: Floats = isotonic_regression(cumulative).x
    return np.clip(rising, 0.0, 1.0)


def project(shares: Floats, total: float = 1.0) -> Floats:
    """The nearest vector with entries >= 0 and the given sum.

    The shares that stay positive are the largest ones; with k of them the amount taken off is their excess over the
    total, divided by k. The right k is the last for which its smallest share is above that amount.
    """
    largest_first = np.sort(shares)[::-1]
    amounts = (np.cumsum(largest_first) - total) / np.arange(1, shares.size + 1)
    kept = int(np.flatnonzero(largest_first > amounts)[-1])
    return np.maximum(shares - amounts[kept], 0.0)
