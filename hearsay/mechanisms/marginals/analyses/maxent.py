"""Maximum entropy: the most even table that agrees with what was measured; also for more attributes than were asked.

Among all probability tables p over the cells x of the attributes, take the one that minimises

    sum_x p_x log p_x + sum_a (theta_a(p) - theta_a)^2 / (2 v_a).

chi_a(x) is the sign of character a at cell x, theta_a(p) = sum_x p_x chi_a(x), theta_a its measured value and v_a that
one's variance. So the table agrees within the noise, is never impossible, and has no structure that was not measured.
The solution is p_x ~ exp(sum_a lambda_a chi_a(x)). The dual problem in the multipliers lambda_a, one per character, is
smooth and strictly convex, and Newton's method solves it:

    minimise  log sum_x exp(sum_a lambda_a chi_a(x)) - sum_a lambda_a theta_a + sum_a v_a lambda_a^2 / 2.

It is a model: biased, without a standard error, and blind to interactions of more attributes than were collected.
                                                                                   Zhang et al. 2018, Dudik et al. 2007
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np

from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.hadamard import parity
from hearsay.mechanisms.marginals.characters.code import Attributes, Code, Masks
from hearsay.mechanisms.marginals.table import Table

MAXIMUM_CELLS = 1 << 14
_LARGE = 1 << 10  # cells; a covariance of more would take too much memory for what is not known
_STEPS = 200  # of Newton's method, at most
_SOLVED = 1e-9  # the largest entry of the gradient at which the dual is solved
_LEAST_STEP = 1e-10
_SUFFICIENT = 1e-4  # a step is halved until it gains this part of what the gradient promises (the rule of Armijo)
MODEL = "maximum entropy: a model of what was measured, biased, blind to interactions of more attributes"


@dataclass(frozen=True, eq=False)
class MeasuredCharacters:
    """Characters, each a mask of bits, with measured values theta and variances."""

    masks: Masks
    theta: Floats
    variance: Floats

    @classmethod
    def of(cls, code: Code, table: Table) -> "MeasuredCharacters":
        """The characters of a measured table, without the empty one, which is 1."""
        masks = code.characters(table.attributes)
        signs = np.stack([code.to_characters(table.attributes, row) for row in np.eye(table.value.size)])
        variance = np.einsum("xa,xy,ya->a", signs, table.covariance, signs, optimize=True)
        return cls(masks[1:], (table.value @ signs)[1:], np.maximum(variance[1:], 1e-12))

    def touching(self, code: Code, attributes: Attributes) -> "MeasuredCharacters":
        """Only those with a bit of every one of these attributes."""
        touches = np.ones(self.masks.size, dtype=bool)
        for attribute in attributes:
            touches &= self.masks & np.uint64(((1 << code.bits[attribute]) - 1) << code.shifts[attribute]) != 0
        return MeasuredCharacters(self.masks[touches], self.theta[touches], self.variance[touches])


class HasCharacters(Protocol):
    """An estimate of marginals up to `order` attributes: what a model needs of it."""

    @property
    def code(self) -> Code: ...
    @property
    def order(self) -> int: ...
    @property
    def reports(self) -> int: ...
    def known(self, attributes: Attributes) -> list[MeasuredCharacters]:
        """The measured characters of subsets of these attributes, one item for each measured table."""


def parts_of(attributes: Attributes, order: int) -> list[Attributes]:
    """The largest subsets of these attributes that were collected: `order` of them, or all."""
    return list(combinations(attributes, min(order, len(attributes))))


def joined(parts: list[MeasuredCharacters]) -> MeasuredCharacters:
    """One entry per character: what several tables say of it, averaged by inverse variance."""
    masks = np.concatenate([part.masks for part in parts])
    theta, weight = (
        np.concatenate([part.theta for part in parts]),
        np.concatenate([1 / part.variance for part in parts]),
    )
    unique, position = np.unique(masks, return_inverse=True)
    total = np.bincount(position, weight)
    # Several tables may come from the same reports. So the variance does not fall with their number: it is their mean
    # (harmonic), not 1/total.
    return MeasuredCharacters(unique, np.bincount(position, weight * theta) / total, np.bincount(position) / total)


def fit(estimate: HasCharacters, attributes: Attributes) -> Table:
    """The model's table of any number of attributes."""
    code = estimate.code
    cells = code.cells(attributes)
    if cells > MAXIMUM_CELLS:
        raise QueryError(what="a model", must=f"have at most {MAXIMUM_CELLS} cells", got=cells)
    known = joined(estimate.known(attributes))
    shares = most_even(_signs(code, attributes, known.masks), known.theta, known.variance)
    unknown = np.full((cells, cells) if cells <= _LARGE else (1, 1), np.nan)  # a model has no covariance
    return Table(attributes, code.shape(attributes), estimate.reports, shares, unknown, method="maxent", model=MODEL)


def _signs(code: Code, attributes: Attributes, masks: Masks) -> Floats:
    """chi: the sign of every character (columns) at every cell (rows)."""
    digits = np.unravel_index(np.arange(code.cells(attributes)), code.shape(attributes))
    words = np.zeros(len(digits[0]), dtype=np.uint64)
    for attribute, digit in zip(attributes, digits, strict=True):
        words |= digit.astype(np.uint64) << np.uint64(code.shifts[attribute])
    return 1.0 - 2.0 * parity(words[:, None] & masks[None, :]).astype(np.float64)


def most_even(signs: Floats, theta: Floats, variance: Floats) -> Floats:
    """p: the shares of the cells (rows of `signs`), by Newton's method on the dual problem."""
    multipliers = np.zeros(theta.size)

    def dual_at(multipliers: Floats) -> tuple[float, Floats]:
        """The dual's value, and the shares with these multipliers."""
        exponents = signs @ multipliers
        top = exponents.max()
        weights = np.exp(exponents - top)
        total = weights.sum()
        dual = top + np.log(total) - multipliers @ theta + (variance * multipliers**2).sum() / 2
        return float(dual), weights / total

    dual, shares = dual_at(multipliers)
    for _ in range(_STEPS):
        mean = shares @ signs
        gradient = mean - theta + variance * multipliers
        if np.abs(gradient).max() < _SOLVED:
            break
        hessian = (signs * shares[:, None]).T @ signs - np.outer(mean, mean)
        hessian[np.diag_indices_from(hessian)] += variance
        direction = np.linalg.solve(hessian, gradient)
        size = 1.0
        while size > _LEAST_STEP:
            trial, trial_shares = dual_at(multipliers - size * direction)
            if trial <= dual - _SUFFICIENT * size * float(gradient @ direction) + 1e-15:
                break
            size /= 2
        else:
            break  # no step gains any more: as good as rounding allows
        multipliers, dual, shares = multipliers - size * direction, trial, trial_shares
    return shares
