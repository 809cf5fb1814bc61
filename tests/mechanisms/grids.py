"""What tests of grid mechanisms share: devices, ranges, and many runs held against the truth."""

import numpy as np
import pytest

from hearsay.collector.wire.codec import codec
from hearsay.collector.wire.decode import decode
from hearsay.mechanisms import Mechanism
from hearsay.mechanisms.estimates.grids import GridRanges
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.layout import Reports


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


def check_cells_are_found(result: GridRanges, cells: np.ndarray) -> None:
    """Of many devices almost without noise."""
    truth = np.zeros(result.domain.shape)
    np.add.at(truth, tuple(cells.T), 1 / len(cells))
    assert (np.abs(result.estimate - truth) <= 6 * result.stderr + 1e-9).all()
    assert result.stderr.max() < 0.02


def check_ranges_are_linear_queries(result: GridRanges) -> None:
    """The same answer by both ways, up to how they clip negative shares."""
    sizes = result.domain.shape
    low, high = np.array([sizes]) // 3, np.array([sizes]) - 1
    query = np.zeros(sizes)
    query[tuple(slice(first, last + 1) for first, last in zip(low[0], high[0], strict=True))] = 1.0
    one, other = result.ranges(low, high), result.sums(query.reshape(1, -1))
    assert one.value[0] == pytest.approx(other.value[0])
    assert one.stderr[0] == pytest.approx(other.stderr[0], rel=0.01)


def check_the_whole_is_known(result: GridRanges) -> None:
    """All cells together, which no noise touches."""
    sizes = result.domain.shape
    assert result.estimate.sum() == pytest.approx(1.0)
    whole = result.ranges(np.zeros((1, len(sizes)), dtype=int), np.array([sizes]) - 1)
    assert (whole.value[0], whole.stderr[0]) == (1.0, 0.0)


def check_reports_pass_the_wire(mechanism: Mechanism, reports: Reports) -> None:
    """In a frame and one by one: what is folded at the other end is the same."""
    wire, expected = codec(mechanism), mechanism.fold(mechanism.empty(), reports)
    entries = [{b"f": wire.encode_frame(reports)}], [{b"r": payload} for payload in wire.encode_singles(reports)]
    for sent in entries:
        decoded = decode(mechanism, sent, wire)
        assert not decoded.rejected
        state = mechanism.fold(mechanism.empty(), decoded.reports)
        for name, array in expected.items():
            np.testing.assert_array_equal(state[name], array)
