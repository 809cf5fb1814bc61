"""What shuffling adds: the privacy of one report that is mixed with N - 1 others (Feldman, McMillan and Talwar 2022).

Let every report satisfy eps0-LDP, and p = e^eps0 / (e^eps0 + 1). Each of the other N - 1 reports is, with probability
2/(e^eps0 + 1), a clone that looks as if it came from one of the two values that an attacker compares, either with
probability 1/2. With C clones, of which A look like the first value, the attacker sees at best X and C + 1 - X:

    X = A + 1 with probability p, else A,    if the device holds the first value (P),
    X = A + 1 with probability 1 - p, else A, if it holds the second (Q).

P(X = x)/Q(X = x) rises with x, so the best test for given C is a threshold, and

    delta(eps) = E_C [ P(X >= x) - e^eps Q(X >= x) ]    at the best x of each C,

which is 0 for eps >= eps0. C is Bin(N - 1, 2/(e^eps0 + 1)); the tails that the sum leaves out are added to delta.
"""

from math import exp

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.errors import SpecificationError

MOST_REPORTS = 10**12
_TAIL = 1e-3  # of delta: how much of it the tails that are left out may take
_GROUPS = 1 << 12  # of numbers of clones; more change the fifth digit of epsilon
_PRECISION = 1e-4  # relative, of the epsilon that is answered; it is rounded up
Floats = NDArray[np.float64]


def shuffled_epsilon(epsilon: float, reports: int, delta: float) -> float:
    """The smallest eps such that `reports` shuffled reports of `epsilon` each satisfy (eps, delta); never too small."""
    if not 1 <= reports <= MOST_REPORTS:
        raise SpecificationError(what="shuffled", expected=f"a number of reports in 1..{MOST_REPORTS}", got=reports)
    if not 0 < delta < 1:
        raise SpecificationError(what="delta", expected="above 0 and below 1", got=f"{delta:g}")
    low, high = 0.0, epsilon  # delta(high) <= delta, whatever low
    while high - low > _PRECISION * high and high > 1e-12:
        middle = (low + high) / 2
        if shuffled_delta(middle, epsilon, reports, _TAIL * delta) <= delta:
            high = middle
        else:
            low = middle
    return high


def shuffled_delta(eps: float, epsilon: float, reports: int, tail: float = 1e-12) -> float:
    """delta(eps) of so many reports of `epsilon` each; `tail` bounds what is added for rare numbers of clones."""
    from scipy.stats import binom

    if eps >= epsilon:
        return 0.0
    clones = binom(reports - 1, 2 / (exp(epsilon) + 1))
    fewest, most = int(clones.ppf(tail / 2)), int(clones.isf(tail / 2))
    # Neighbouring numbers of clones are taken together, each group as its smallest: fewer clones hide less.
    first = np.unique(np.linspace(fewest, most, min(most - fewest + 1, _GROUPS)).astype(np.int64))
    chance = clones.cdf(np.append(first[1:] - 1, most)) - clones.cdf(first - 1)
    left_out = float(clones.cdf(fewest - 1) + clones.sf(most))
    return float(chance @ _best_test(eps, epsilon, first)) + left_out


def _best_test(eps: float, epsilon: float, clones: NDArray[np.int64]) -> Floats:
    """P(X >= x) - e^eps Q(X >= x) at the best x, for each number of clones.

    With b the probabilities of A, b(x-1)/b(x) = x/(c - x + 1) = r, and P/Q >= e^eps where
    r (p - (1-p) e^eps) >= p e^eps - (1-p).
    """
    from scipy.stats import binom

    p, q, grow = exp(epsilon) / (exp(epsilon) + 1), 1 / (exp(epsilon) + 1), exp(eps)
    least_ratio = (p * grow - q) / (p - q * grow)
    threshold = np.ceil(least_ratio * (clones + 1) / (1 + least_ratio))
    above, at_or_above = binom.sf(threshold - 1, clones, 0.5), binom.sf(threshold - 2, clones, 0.5)
    result: Floats = np.maximum(p * at_or_above + q * above - grow * (q * at_or_above + p * above), 0.0)
    return result
