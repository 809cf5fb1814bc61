"""A marginal from its characters, whichever way reports show them.

A report shows character a with chance pi_a, characters a and b together with chance pi_ab. Each shown sign has
correlation c with the true one: c is the chance that it is right minus the chance that it is wrong. The signs of a
report come from one perturbed bucket, so the product of two is the shown sign of the character ab, the product of a and
b: E[s_a s_b] = c theta_ab, and not c^2 theta_ab.

Estimate  theta_a = sum/(norm c); norm is the character's own count, or its expectation n pi_a where some character is
          expected fewer than 20 times (one choice for all characters of a state: choosing per character biases).
Variance  of theta, with E_ab = E[s_a s_b]/c^2, so E_aa = 1/c^2 and E_ab = theta_ab/c. Own counts:
          n Cov_ab = pi_ab/(pi_a pi_b) (E_ab - theta_a theta_b), times (1 + 1/(n pi_a)) on the diagonal; expected
          counts:  n Cov_ab = pi_ab E_ab/(pi_a pi_b) - theta_a theta_b.
          A marginal is A theta (module `code`).

Where a character has fewer than 3 expected reports, a normal interval covers 80-95% only: Bernstein's inequality takes
its place. Where a share is near 0 or 1, characters are near +-1 and the estimated variance is near 0. A few devices
with other values would raise it, and the sample may hold none of them: the interval allows for the variance's change
with the share (`_slope`).
"""

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.postprocess import project
from hearsay.mechanisms.marginals.characters.code import Attributes, Code, local_xor
from hearsay.mechanisms.marginals.table import Score, Table

Counts = NDArray[np.int64]
OWN_COUNT_FROM = 20  # expected reports per character from which its own count is the better norm
NORMAL_FROM = 3  # expected reports per character from which normal intervals are used
_SMALL = 256  # the most characters of a table for which `_slope` counts pairs that a report shows together


def normalised(total: Counts, count: Counts, seen: Floats, reports: int, correlation: float, own: bool) -> Floats:
    """theta from `total`, the sums of signs, and `count`, how many reports show each character.

    `seen` has the chances pi_a; `own`: divide by the character's own count, not by its expectation.
    """
    norm = np.maximum(reports * seen, 1e-300)
    if own:
        norm = np.where(count > 0, count, norm)
    theta: Floats = total / (norm * correlation)
    return theta


def uses_own_counts(least_seen: float, reports: int) -> bool:
    """Whether every character is expected often enough to be divided by its own count; `least_seen`: the least pi_a."""
    return reports * least_seen >= OWN_COUNT_FROM


def stderr_of_each(theta: Floats, seen: Floats, reports: int, correlation: float, own: bool) -> Floats:
    """The standard error of every theta by randomisation alone: the devices' values are given, not drawn."""
    clipped, n = np.clip(theta, -1.0, 1.0), max(reports, 1)
    if own:
        variance = (1 / correlation**2 - clipped**2) / seen * (1 + 1 / (n * seen)) - (1 - clipped**2)
    else:
        variance = 1 / (correlation**2 * seen) - 1
    return np.sqrt(np.maximum(variance, 0.0) / n)


def from_characters(
    code: Code,
    attributes: Attributes,
    reports: int,
    theta: Floats,
    together: Floats,
    correlation: float,
    own: bool,
    shown: int,
) -> Table:
    """The marginal's table; theta and the chances are of its K characters, row-major, the empty one first.

    `together` has the chances pi_a on its diagonal; `shown` is how many characters a report shows.
    """
    theta = theta.copy()
    theta[0] = 1.0
    to_cells = code.to_cells(attributes)
    value = to_cells @ theta
    seen = np.diag(together).copy()
    seen[0] = 1.0
    n = max(reports, 1)
    covariance = to_cells @ _spread(code, attributes, value, together, seen, correlation, own, n) @ to_cells.T / n
    expected = n * seen[1:].min()
    # How far one character of a report moves each cell at most, times n.
    most = np.abs(to_cells[:, 1:] / seen[1:]).max(axis=1) / correlation
    if expected < NORMAL_FROM:
        return Table(attributes, code.shape(attributes), reports, value, covariance, shown * float(most.max()))
    score = None
    if own:
        slope = _slope(code, attributes, value, together, seen, correlation)
        # The continuity correction (half a step) is needed only where the variance mostly depends on the share itself.
        dependent = slope / np.maximum(slope + n * np.diag(covariance), 1e-300)  # 0..1
        score = Score(2 * most * dependent**2, slope=slope)
    return Table(attributes, code.shape(attributes), reports, value, covariance, score=score, tail_step=most)


def _slope(
    code: Code, attributes: Attributes, value: Floats, together: Floats, seen: Floats, correlation: float
) -> Floats:
    """By how much n Var of every cell rises at most, per unit of share that comes to the cell or leaves it.

    n Var = sum A_a A_b w_ab (E_ab - theta_a theta_b), with w_ab = pi_ab/(pi_a pi_b), is concave in the shares, so its
    derivative is a bound. `rises[i, j]` is the derivative of cell i's n Var by the share of cell j. Of tables with more
    than `_SMALL` characters the terms with a != b of E_ab are left out: the result is an approximation, not a bound.
    """
    to_cells, shares = code.to_cells(attributes), project(value)
    signs = np.stack([code.to_characters(attributes, row) for row in np.eye(value.size)], axis=1)  # by character, cell
    theta, weight = signs @ shares, together / np.outer(seen, seen)
    weight[0, :] = weight[:, 0] = 0.0
    rises = -2 * (to_cells * (to_cells @ (theta[:, None] * weight))) @ signs
    pair_weight = weight - np.diag(np.diag(weight))
    if pair_weight.any() and theta.size <= _SMALL:
        product = local_xor(theta.size)
        for cell, row in enumerate(to_cells):
            by_product = np.bincount(product.reshape(-1), weights=(np.outer(row, row) * pair_weight).reshape(-1))
            rises[cell] += by_product @ signs / correlation
    itself = np.diag(rises)
    return np.maximum(rises.max(axis=1) - itself, itself - rises.min(axis=1))


def _spread(
    code: Code,
    attributes: Attributes,
    value: Floats,
    together: Floats,
    seen: Floats,
    correlation: float,
    own: bool,
    n: int,
) -> Floats:
    """n Cov of theta over reports of devices drawn from the population."""
    theta = code.to_characters(attributes, project(value))
    products = np.outer(theta, theta)
    second = theta[local_xor(theta.size)] / correlation
    second[np.diag_indices_from(second)] = 1 / correlation**2
    weight = together / np.outer(seen, seen)
    if own:
        covariance = weight * (second - products)
        covariance[np.diag_indices_from(covariance)] *= 1 + 1 / (n * seen)
    else:
        covariance = weight * second - products
    covariance[0, :] = covariance[:, 0] = 0.0
    return covariance
