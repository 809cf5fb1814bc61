"""Two older ways to release a count, to compare with: neither is offered for use.

exponential      output i with weight exp(-epsilon |i-j|/2) (McSherry and Talwar 2007; Kulkarni 2.2). The factor 1/2
                 pays for the columns' different sums, which the fair mechanism does not need.
rounded_laplace  Laplace noise of scale 1/epsilon, rounded, what falls outside 0..n moved to the ends.
"""

import numpy as np

from hearsay.mechanisms.counts.objectives import Floats


def exponential(largest: int, epsilon: float) -> Floats:
    """The exponential mechanism with quality -|i-j|."""
    count = np.arange(largest + 1)
    weight = np.exp(-epsilon / 2 * np.abs(count[:, None] - count))
    return weight / weight.sum(axis=0)


def rounded_laplace(largest: int, epsilon: float) -> Floats:
    """Laplace noise, rounded to the nearest integer and cut to 0..largest."""
    edges = np.arange(1, largest + 1) - 0.5
    distance = edges[:, None] - np.arange(largest + 1)
    tail = np.exp(-epsilon * np.abs(distance)) / 2
    below = np.where(distance < 0, tail, 1 - tail)
    ends = np.zeros((1, largest + 1))
    return np.diff(np.concatenate([ends, below, ends + 1]), axis=0)
