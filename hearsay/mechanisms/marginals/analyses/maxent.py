"""Maximum entropy: the most even table that agrees with what was measured; also for more attributes than were asked.

Among all probability tables over the attributes, take the one that minimises

    sum_x p log p + sum_a (theta_a(p) - theta_a)^2 / (2 v_a),

theta_a the measured characters with variances v_a: agreement within the noise, hence never an impossible table, and no
structure that was not measured. The dual is smooth and strictly convex in one multiplier a character (p ~ exp(sum
lambda_a chi_a)), and Newton's method solves it. It is a model: biased, without a standard error, and blind to
interactions of more attributes than were collected.                               Zhang et al. 2018, Dudik et al. 2007
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
_STEPS = 200
_CLOSE = 1e-9
MODEL = "maximum entropy: a model of what was measured, biased, blind to interactions of more attributes"


@dataclass(frozen=True, eq=False)
class Known:
    """Measured characters: masks, values and variances."""

    masks: Masks
    theta: Floats
    variance: Floats

    @classmethod
    def of(cls, code: Code, table: Table) -> "Known":
        """The characters of a measured table, without the empty one."""
        masks = code.characters(table.attributes)
        signs = np.stack([code.to_characters(table.attributes, row) for row in np.eye(table.value.size)])
        variance = np.einsum("xa,xy,ya->a", signs, table.covariance, signs, optimize=True)
        return cls(masks[1:], (table.value @ signs)[1:], np.maximum(variance[1:], 1e-12))

    def touching(self, code: Code, attributes: Attributes) -> "Known":
        """Only those that touch every one of these attributes."""
        kept = np.ones(self.masks.size, dtype=bool)
        for attribute in attributes:
            kept &= self.masks & np.uint64(((1 << code.bits[attribute]) - 1) << code.shifts[attribute]) != 0
        return Known(self.masks[kept], self.theta[kept], self.variance[kept])


class Measures(Protocol):
    """What a model needs of an estimate."""

    @property
    def code(self) -> Code: ...
    @property
    def order(self) -> int: ...
    @property
    def reports(self) -> int: ...
    def known(self, attributes: Attributes) -> list[Known]:
        """The measured characters of parts of these attributes."""


def parts_of(attributes: Attributes, order: int) -> list[Attributes]:
    """The largest parts of these attributes that were collected."""
    return list(combinations(attributes, min(order, len(attributes))))


def joined(parts: list[Known]) -> Known:
    """Characters known from several tables, averaged by inverse variance."""
    masks = np.concatenate([part.masks for part in parts])
    theta, weight = (
        np.concatenate([part.theta for part in parts]),
        np.concatenate([1 / part.variance for part in parts]),
    )
    unique, position = np.unique(masks, return_inverse=True)
    total = np.bincount(position, weight)
    # The same measurement seen in several tables is not measured more often: the mean variance stays a safe choice.
    return Known(unique, np.bincount(position, weight * theta) / total, np.bincount(position) / total)


def fit(estimate: Measures, attributes: Attributes) -> Table:
    """The model's table of any number of attributes."""
    code = estimate.code
    cells = code.cells(attributes)
    if cells > MAXIMUM_CELLS:
        raise QueryError(f"a model must have at most {MAXIMUM_CELLS} cells, got {cells}")
    known = joined(estimate.known(attributes))
    shares = most_even(_signs(code, attributes, known.masks), known.theta, known.variance)
    nothing = np.full((cells, cells), np.nan) if cells <= 1 << 10 else np.full((1, 1), np.nan)
    return Table(attributes, code.shape(attributes), estimate.reports, shares, nothing, method="maxent", model=MODEL)


def _signs(code: Code, attributes: Attributes, masks: Masks) -> Floats:
    """The sign of every character (columns) at every real cell (rows)."""
    digits = np.unravel_index(np.arange(code.cells(attributes)), code.shape(attributes))
    words = np.zeros(len(digits[0]), dtype=np.uint64)
    for attribute, digit in zip(attributes, digits, strict=True):
        words |= digit.astype(np.uint64) << np.uint64(code.shifts[attribute])
    return 1.0 - 2.0 * parity(words[:, None] & masks[None, :]).astype(np.float64)


def most_even(signs: Floats, theta: Floats, variance: Floats) -> Floats:
    """The shares of the cells (rows of signs)."""
    multipliers = np.zeros(theta.size)

    def value_at(at: Floats) -> tuple[float, Floats]:
        exponents = signs @ at
        top = exponents.max()
        weights = np.exp(exponents - top)
        total = weights.sum()
        dual = top + np.log(total) - at @ theta + (variance * at**2).sum() / 2
        return float(dual), weights / total

    value, shares = value_at(multipliers)
    for _ in range(_STEPS):
        mean = shares @ signs
        gradient = mean - theta + variance * multipliers
        if np.abs(gradient).max() < _CLOSE:
            break
        hessian = (signs * shares[:, None]).T @ signs - np.outer(mean, mean)
        hessian[np.diag_indices_from(hessian)] += variance
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while size > 1e-10:
            trial, trial_shares = value_at(multipliers - size * step)
            if trial <= value - 1e-4 * size * float(gradient @ step) + 1e-15:
                break
            size /= 2
        else:
            break
        multipliers, value, shares = multipliers - size * step, trial, trial_shares
    return shares
