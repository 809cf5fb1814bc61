"""metric-l1: the stated variance is the real one, and the error bars hold, in one, two and three dimensions."""

import numpy as np
import pytest

from hearsay.mechanisms import build
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.layout import select

# Ranges by kind along each axis: interior, prefix, suffix and trivial, on grids with unequal sizes.
GRIDS: dict[str, tuple[list[int], list[list[tuple[int, int]]]]] = {
    "one": ([9], [[(3, 5)], [(0, 4)], [(6, 8)], [(2, 2)]]),
    "two": (
        [7, 4],
        [[(2, 4), (1, 2)], [(0, 3), (0, 3)], [(2, 4), (0, 3)], [(0, 2), (2, 3)], [(3, 6), (1, 1)], [(0, 6), (0, 1)]],
    ),
    "three": (
        [5, 3, 4],
        [
            [(1, 3), (1, 1), (1, 2)],
            [(0, 2), (0, 2), (0, 3)],
            [(1, 3), (0, 1), (0, 3)],
            [(2, 4), (1, 2), (0, 1)],
            [(0, 4), (1, 1), (2, 3)],
        ],
    ),
}


def survey(sizes: list[int], epsilon: float, **options: object):
    return build(
        {"mechanism": "metric-l1", "epsilon": epsilon, "domain": {"kind": "grid", "sizes": sizes}, "options": options}
    )


def exact_variance(mechanism, low: np.ndarray, high: np.ndarray, cells: np.ndarray) -> float:
    """n Var by the definition: second moments of every device's factors, axis by axis, less 1 for those inside."""
    moments, inside = np.ones(len(cells)), np.ones(len(cells), dtype=bool)
    for axis, c in enumerate(mechanism.correlations):
        first, last = low[axis] == 0, high[axis] == mechanism.domain.shape[axis] - 1
        within = (cells[:, axis] >= low[axis]) & (cells[:, axis] <= high[axis])
        if first and last:
            moment = np.full(len(cells), 1.0 if mechanism.anchored else 1 / c**2)
        elif mechanism.anchored and (first or last):
            moment = np.where(within, 1 + 3 * c**2, 1 - c**2) / (4 * c**2)
        else:
            moment = np.where(within, 1 + c**2, 1 - c**2) / (2 * c**2)
        moments *= moment
        inside &= within
    return float((moments - inside).mean())


@pytest.mark.parametrize(
    ("ranges", "literal", "anchored"),
    [
        ([(0, 3), (0, 7)], 10.46, 0.92),
        ([(2, 5), (0, 7)], 10.46, 1.84),
        ([(0, 3), (0, 3)], 5.23, 1.77),
        ([(2, 5), (2, 5)], 5.23, 5.23),
    ],
)
def test_anchoring_against_the_literal_form(ranges: list, literal: float, anchored: float) -> None:
    """Two axes, epsilon 1, uniform data, half of each axis that is cut."""
    low, high = np.array([[low for low, _ in ranges]]), np.array([[high for _, high in ranges]])
    cells = np.stack(np.unravel_index(np.arange(64), (8, 8)), axis=1)
    for form, expected in ((True, anchored), (False, literal)):
        mechanism = survey([8, 8], 1.0, anchored=form)
        assert exact_variance(mechanism, low[0], high[0], cells) == pytest.approx(expected, abs=0.006)
        # A state that shows the expectation of every sign gives the same by plugging in.
        signs = np.ones((64, 1))
        for axis, c in enumerate(mechanism.correlations):
            along = np.where(np.arange(8) >= cells[:, axis, None], c, -c)
            if form:
                along[:, -1] = 1
            signs = (signs[:, :, None] * along[:, None, :]).reshape(64, -1)
        state = mechanism.empty()
        state["observation"] += np.rint(signs.mean(axis=0) * 1e12).astype(np.int64).reshape(8, 8)
        if not form:
            state["n"] += 10**12
        stderr = mechanism.estimate(state).ranges(low, high).stderr[0]
        assert stderr**2 * 1e12 == pytest.approx(expected, abs=0.006)


def check_statistics(grid: str, anchored: bool, runs: int, reports: int, variance_band: float, coverage: float) -> None:
    sizes, ranges = GRIDS[grid]
    mechanism = survey(sizes, 1.5, anchored=anchored)
    low = np.array([[low for low, _ in query] for query in ranges])
    high = np.array([[high for _, high in query] for query in ranges])
    generator = np.random.default_rng(3)
    cells = np.stack([np.minimum(generator.geometric(0.3, reports) - 1, size - 1) for size in sizes], axis=1)
    values = cells[:, 0] if len(sizes) == 1 else cells
    truth = np.array([((cells >= a) & (cells <= b)).all(axis=1).mean() for a, b in zip(low, high, strict=True)])
    errors, stderrs = np.empty((runs, len(low))), np.empty((runs, len(low)))
    random, at_once = seeded(17), 500
    for start in range(0, runs, at_once):
        many = mechanism.perturb(np.concatenate([values] * at_once), random)
        for run in range(at_once):
            part = select(many, slice(run * reports, (run + 1) * reports))
            value, stderr, *_ = mechanism.estimate(mechanism.fold(mechanism.empty(), part)).ranges(low, high)
            errors[start + run], stderrs[start + run] = value - truth, stderr
    for query, (a, b) in enumerate(zip(low, high, strict=True)):
        variance = exact_variance(mechanism, a, b, cells) / reports
        if variance == 0:
            np.testing.assert_allclose(errors[:, query], 0, atol=1e-12)
            continue
        assert abs(errors[:, query].mean()) < 5 * np.sqrt(variance / runs)
        assert abs((errors[:, query] ** 2).mean() / variance - 1) < variance_band, ranges[query]
        assert abs((stderrs[:, query] ** 2).mean() / variance - 1) < variance_band / 2, ranges[query]
        covered = (np.abs(errors[:, query]) <= 1.96 * stderrs[:, query] + 1e-12).mean()
        assert abs(covered - 0.95) < coverage, ranges[query]


@pytest.mark.parametrize("grid", GRIDS)
def test_variance_and_coverage(grid: str) -> None:
    check_statistics(grid, anchored=True, runs=2_000, reports=400, variance_band=0.16, coverage=0.03)


def test_variance_and_coverage_of_the_literal_form() -> None:
    check_statistics("two", anchored=False, runs=2_000, reports=400, variance_band=0.16, coverage=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("anchored", [True, False])
@pytest.mark.parametrize("grid", GRIDS)
def test_variance_within_five_percent_and_coverage_within_one(grid: str, anchored: bool) -> None:
    check_statistics(grid, anchored, runs=30_000, reports=600, variance_band=0.05, coverage=0.01)
