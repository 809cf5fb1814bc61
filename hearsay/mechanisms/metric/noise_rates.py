"""The noise of each row of a strategy, chosen to minimise the total error under a metric (Xiang et al. 3.1).

Row k of the strategy A is reported with noise of rate u_k (scale 1/u_k). By proposition 2 the reports satisfy E if

    sum_k u_k |A_kx - A_ky| <= E(x, y)   for every pair of values,

The total squared error is sum_k w_k g(u_k), where w_k is the weight of row k in the answers, and g is the variance of
the noise: 1/(cosh u - 1) on the integers, 2/u^2 for continuous noise. Both are convex, so a log barrier method finds
the optimum. It needs only pairs with no third value on the shortest path between them (`direct_pairs`). The rates are
then rounded down to multiples of 2^-40, and the condition is checked for every pair in integers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.exact.discrete_laplace import variance
from hearsay.mechanisms.guarantees.distances import Distances, direct_pairs

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

RATE_BITS = 40  # rates are multiples of 2^-40
LARGEST_RATE = 50.0  # of a row that no pair limits; its noise has a variance below 2^-70
MAXIMUM_ENTRIES = 1 << 25
_GAP = 1e-7  # relative distance to the optimum at which the barrier method stops
_STEEPER = 50.0  # factor of the barrier's steepness between two steps
_CENTRED = 1e-4  # Newton decrement at which a centring step stops
_NEGLIGIBLE = 1e-11  # relative change of the barrier's value that is near its rounding error
_UNLIMITED = 1e-200  # instead of 0 for a pair of values that no row distinguishes
_PAIRS_AT_ONCE = 4096


@dataclass(frozen=True)
class Noise:
    """The variance of noise as a function of its rate, with two derivatives."""

    variance: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    curvature: Callable[[Floats], Floats]


def _cosh1(u: Floats) -> Floats:
    """cosh u - 1 without cancellation."""
    return 2 * np.sinh(0.5 * u) ** 2


LATTICE = Noise(variance, lambda u: -np.sinh(u) / _cosh1(u) ** 2, lambda u: (np.cosh(u) + 2) / _cosh1(u) ** 2)
CONTINUOUS = Noise(lambda u: 2 / u**2, lambda u: -4 / u**3, lambda u: 12 / u**4)


def optimise(strategy: Integers, weights: Floats, bound: Distances, noise: Noise = LATTICE) -> Floats:
    """The rates (one per row) with the least weighted variance under E = `bound`; every row's weight must be > 0."""
    constraints, limits = _constraints(strategy, bound)
    rates = np.full(len(strategy), 0.5 * (limits / np.maximum(constraints @ np.ones(len(strategy)), _UNLIMITED)).min())
    objective = float(weights @ noise.variance(rates))
    steepness = len(limits) / objective
    while True:
        rates = _centre(rates, steepness, weights, constraints, limits, noise)
        if len(limits) / steepness < _GAP * float(weights @ noise.variance(rates)):
            # Scaled up until the first constraint is tight.
            return rates * (limits / np.maximum(constraints @ rates, _UNLIMITED)).min()
        steepness *= _STEEPER


def _centre(
    rates: Floats, steepness: float, weights: Floats, constraints: "csr_array", limits: Floats, noise: Noise
) -> Floats:
    """Minimise steepness * error - sum of log slacks by Newton's method, from an interior point."""

    def value(at: Floats) -> float:
        slack = limits - constraints @ at
        if (at <= 0).any() or (slack <= 0).any():
            return np.inf
        return float(steepness * (weights @ noise.variance(at)) - np.log(slack).sum())

    current = value(rates)
    for _ in range(100):
        slack = limits - constraints @ rates
        gradient = steepness * weights * noise.slope(rates) + constraints.T @ (1 / slack)
        scaled = constraints.multiply(1 / slack[:, None]).tocsr()
        hessian = (scaled.T @ scaled).toarray()
        hessian[np.diag_indices_from(hessian)] += steepness * weights * noise.curvature(rates)
        step = -np.linalg.solve(hessian, gradient)
        decrement = -float(gradient @ step)
        if decrement < max(_CENTRED, _NEGLIGIBLE * abs(current)):
            break
        length = 1.0
        while (reached := value(rates + length * step)) > current - 0.1 * length * decrement and length > 1e-9:
            length /= 2
        if reached > current:
            break  # rounding allows no further progress
        rates, current = rates + length * step, reached
    return rates


def _constraints(strategy: Integers, bound: Distances) -> tuple["csr_array", Floats]:
    """Constraints @ rates <= limits: the largest rate of every row, and proposition 2 for every direct pair."""
    from scipy.sparse import csr_array, eye_array, vstack

    pairs = direct_pairs(bound)
    blocks, entries = [csr_array(eye_array(len(strategy)))], 0
    for start in range(0, len(pairs), _PAIRS_AT_ONCE):
        x, y = pairs[start : start + _PAIRS_AT_ONCE].T
        block = csr_array(np.abs(strategy[:, x] - strategy[:, y]).T.astype(np.float64))
        entries += block.nnz
        if entries > MAXIMUM_ENTRIES:
            raise SpecificationError(
                f"options.strategy is too dense to optimise: more than {MAXIMUM_ENTRIES} entries over the pairs of "
                "values; give options.scales instead"
            )
        blocks.append(block)
    limits = np.concatenate([np.full(len(strategy), LARGEST_RATE), bound[tuple(pairs.T)]])
    return csr_array(vstack(blocks, format="csr")), limits


def spent(strategy: Integers, numerators: Integers) -> Integers:
    """sum_k u_k |A_kx - A_ky| for every pair, in multiples of 2^-40, exactly."""
    if float(np.abs(strategy).max(initial=0)) * 2 * float(numerators.sum()) >= 2.0**62:
        raise SpecificationError("options.strategy has entries too large for exact arithmetic at these scales")
    total = np.zeros((strategy.shape[1], strategy.shape[1]), dtype=np.int64)
    for row, numerator in zip(strategy, numerators, strict=True):
        total += numerator * np.abs(row[:, None] - row[None, :])
    return total


def allowed(epsilon: float, distances: Distances) -> Integers:
    """epsilon times each distance in multiples of 2^-40, rounded down; the largest integer for infinite distances."""
    unlimited = np.iinfo(np.int64).max
    values, inverse = np.unique(distances, return_inverse=True)
    scaled = [
        min(int(Fraction(epsilon) * Fraction(value) * (1 << RATE_BITS)), unlimited) if np.isfinite(value) else unlimited
        for value in values
    ]
    return np.array(scaled, dtype=np.int64)[inverse.reshape(distances.shape)]


def round_down(rates: Floats, strategy: Integers, epsilon: float, distances: Distances) -> Integers:
    """Rates in multiples of 2^-40, none above `rates`, that satisfy proposition 2 exactly for every pair."""
    numerators = np.floor(rates * 2.0**RATE_BITS).astype(np.int64)
    limit, used = allowed(epsilon, distances), spent(strategy, numerators)
    over = used > limit
    if over.any():
        shrink = min(Fraction(int(a), int(b)) for a, b in set(zip(limit[over], used[over], strict=True)))
        numerators = np.array([int(numerator * shrink) for numerator in numerators.tolist()], dtype=np.int64)
    return numerators


def violation(numerators: Integers, strategy: Integers, epsilon: float, distances: Distances) -> str | None:
    """A message about the pair that violates proposition 2 most; None if every pair satisfies it."""
    limit, used = allowed(epsilon, distances), spent(strategy, numerators)
    if (used <= limit).all():
        return None
    x, y = np.unravel_index(int(np.argmax(used / np.maximum(limit, 1))), used.shape)
    unit = 2.0**-RATE_BITS
    return f"values {x} and {y} would differ by {used[x, y] * unit:g}, above the {limit[x, y] * unit:g} allowed"
