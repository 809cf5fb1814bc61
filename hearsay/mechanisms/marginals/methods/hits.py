"""Tables from hits: a report hits the cell of its device with probability p, and any other cell with probability q.

`bits`: every cell of a table has its own coin (unary encoding). `one`: a report is one cell (randomised response).
A marginal cell sums M cells of that table, so a report that holds it hits it P = p + (M-1) q times on average and one
that does not Q = M q times; f = (hits/n - M q)/(p - q). With f the marginal's shares, n Cov given the values is

    bits   diagonal, [f p(1-p) + (M-f) q(1-q)]/(p-q)^2
    one    [diag(Q + (p-q) f) - Q^2 - Q (p-q)(f_x + f_y) - (p-q)^2 diag f]/(p-q)^2
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.estimates.estimate import Floats

Counts = NDArray[np.int64]


class Chances(NamedTuple):
    """p, q and p - q of a table's cells; the difference is exact before it is rounded."""

    p: float
    q: float
    gap: float


def shares(hits: Counts, reports: float, cells_each: int, chances: Chances) -> Floats:
    """f from the hits of a marginal's cells, `cells_each` = M."""
    f: Floats = (hits / max(reports, 1) - cells_each * chances.q) / chances.gap
    return f


def covariance_of_bits(f: Floats, cells_each: int, chances: Chances) -> Floats:
    """n Cov where every cell has its own coin."""
    p, q, gap = chances
    return np.diag((f * p * (1 - p) + (cells_each - f) * q * (1 - q)) / gap**2)


def covariance_of_one(f: Floats, cells_each: int, chances: Chances) -> Floats:
    """n Cov where a report is one cell."""
    _, q, gap = chances
    other = cells_each * q
    products = other**2 + other * gap * (f[:, None] + f[None, :]) + np.diag(gap**2 * f)
    return (np.diag(other + gap * f) - products) / gap**2


def with_known_total(f: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """A table whose cells are made to sum to one, the difference spread evenly, and its covariance."""
    spread = np.eye(f.size) - 1 / f.size
    return f - (f.sum() - 1) / f.size, spread @ covariance @ spread.T


def sampling(f: Floats) -> Floats:
    """n Cov of the shares in a sample from a population: diag f - f f'."""
    return np.diag(f) - np.outer(f, f)
