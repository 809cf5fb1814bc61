"""What tests of grid mechanisms share: devices, ranges, and many runs held against the truth."""

import numpy as np

from hearsay.mechanisms import Mechanism
from hearsay.mechanisms.exact.randomness import seeded


def skewed(sizes: list[int], count: int) -> np.ndarray:
    """Half of the devices in one cell: then (sum w f)^2 and f(1 - f) matter."""
    generator = np.random.default_rng(3)
    cells = np.stack([generator.integers(0, size, count) for size in sizes], axis=1)
    cells[: count // 2] = [1, *(size // 2 for size in sizes[1:])]
    return cells


def random_ranges(sizes: list[int], count: int) -> np.ndarray:
    """First and last cells, shape (count, 2, axes)."""
    return np.sort(np.random.default_rng(6).integers(0, sizes, (count, 2, len(sizes))), axis=1)


def run_many(mechanism: Mechanism, runs: int) -> tuple[float, float, float]:
    """Largest bias in standard errors, mean squared error over stated variance, and coverage, of random ranges."""
    sizes, random = list(mechanism.domain.shape), seeded(4)
    cells, ends = skewed(sizes, 4_000), random_ranges(sizes, 150)
    low, high = ends[:, 0], ends[:, 1]
    truth = np.array([((cells >= first) & (cells <= last)).all(axis=1).mean() for first, last in ends])
    errors, stderrs = np.empty((runs, 150)), np.empty((runs, 150))
    for run in range(runs):
        state = mechanism.fold(mechanism.empty(), mechanism.perturb(cells, random))
        value, stderrs[run], *_ = mechanism.estimate(state).ranges(low, high)
        errors[run] = value - truth
    bias = np.abs(errors.mean(axis=0)) / (stderrs.mean(axis=0) / np.sqrt(runs) + 1e-12)
    ratio = (errors**2).mean() / (stderrs**2).mean()
    return float(bias.max()), float(ratio), float((np.abs(errors) <= 1.96 * stderrs).mean())
