"""Tables 1 and 2 of Xiang, Ding, He, Zhou, measured: collector modes, and metric privacy against plain LDP."""

import time
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms import Mechanism, build
from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.metric.bounds import rank_bound
from hearsay.mechanisms.metric.collector_modes import KeptReports, SingleFrequencies
from hearsay.mechanisms.metric.l1 import MetricL1Signs
from hearsay.ops.experiments.output import Result

EPSILON = 1.0
REPORTS = 100_000
RANKS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
LINE_SIZES = (256, 4096)
GRIDS = ((32, 32), (12, 12, 12))
MODES_SIZES, MODES_REPORTS, MODES_QUERIES = (40, 40, 40), 50_000, 40
LARGE_GRID, LARGE_REPORTS = (10,) * 6, 16_384


def table_2(quick: bool, random: Random) -> Result:
    """Root mean square errors at equal epsilon; the guarantees differ: per step for the metric, per pair for LDP."""
    runs = 3 if quick else 20
    result = Result(
        "table-2",
        f"Table 2, measured: errors x 1000 of metric privacy and plain LDP, epsilon {EPSILON:g}, n = {REPORTS:,}",
        ["task", "size", "mechanism", "error", "times metric-l1", "bound"],
        [],
        "ranges: root mean square error over 300 random ranges; quantiles: mean error in rank of 5 quantiles; "
        "plain LDP by hierarchical and haar, on grids also by olh with its cells summed",
    )
    for size in LINE_SIZES:
        cells = _values((size,))
        domain = {"kind": "ordinal", "size": size}
        rivals = {name: _mechanism(name, domain) for name in ("metric-l1", "hierarchical", "haar")}
        ranges = {name: _range_error(rival, cells, runs, random) for name, rival in rivals.items()}
        _add(result, "range, 1 axis", str(size), ranges)
        ranks = {name: _rank_error(rival, cells, runs, random) for name, rival in rivals.items()}
        bound = rank_bound(float(np.tanh(EPSILON / 2)), size, REPORTS)
        _add(result, "quantile", str(size), ranks, bound)
        result.expect(ranks["metric-l1"] <= bound, f"quantiles of {size} cells miss by more than theorem 5 allows")
    for shape in GRIDS:
        cells = _values(shape)
        domain = {"kind": "grid", "sizes": list(shape)}
        rivals = {name: _mechanism(name, domain) for name in ("metric-l1", "hierarchical", "haar", "olh")}
        errors = {name: _range_error(rival, cells, runs, random) for name, rival in rivals.items()}
        _add(result, f"range, {len(shape)} axes", " x ".join(map(str, shape)), errors)
    return result


def _mechanism(name: str, domain: dict[str, Any]) -> Mechanism:
    return build({"mechanism": name, "epsilon": EPSILON, "domain": domain})


def _values(shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Devices around the middle of every axis."""
    generator = np.random.default_rng(len(shape))
    axes = [np.clip(generator.normal(0.45 * size, 0.2 * size, REPORTS), 0, size - 1).astype(np.int64) for size in shape]
    return np.stack(axes, axis=1)


def _estimate(mechanism: Mechanism, cells: NDArray[np.int64], random: Random) -> Any:
    values = cells[:, 0] if cells.shape[1] == 1 else cells
    return mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(values, random)))


def _range_error(mechanism: Mechanism, cells: NDArray[np.int64], runs: int, random: Random) -> float:
    assert isinstance(mechanism.domain, Cells)
    shape = mechanism.domain.shape
    ends = np.sort(np.random.default_rng(9).integers(0, shape, (300, 2, len(shape))), axis=1)
    low, high = ends[:, 0], ends[:, 1]
    counts = np.zeros(shape)
    np.add.at(counts, tuple(cells.T), 1.0)
    truth = SingleFrequencies(counts / len(cells)).ranges(low, high)
    squared = []
    for _ in range(runs):
        estimate = _estimate(mechanism, cells, random)
        if mechanism.ID == "olh":
            answers = SingleFrequencies(estimate.estimate).ranges(low, high)
        else:
            answers = estimate.ranges(low, high).value
        squared.append(float(((answers - truth) ** 2).mean()))
    return float(np.sqrt(np.mean(squared)))


def _rank_error(mechanism: Mechanism, cells: NDArray[np.int64], runs: int, random: Random) -> float:
    """How far a wanted rank lies outside the found cell's own stretch of ranks (the paper's Err)."""
    cumulative = np.bincount(cells[:, 0], minlength=mechanism.domain.size).cumsum() / len(cells)
    errors = []
    for _ in range(runs):
        cell = _estimate(mechanism, cells, random).quantiles(RANKS).cell
        before = np.where(cell > 0, cumulative[cell - 1], 0.0)
        errors.append(np.maximum(0.0, np.maximum(before - RANKS, RANKS - cumulative[cell])).mean())
    return float(np.mean(errors))


def _add(result: Result, task: str, size: str, errors: dict[str, float], bound: float | None = None) -> None:
    own = errors["metric-l1"]
    for name, error in errors.items():
        limit = None if bound is None or name != "metric-l1" else 1000 * bound
        result.rows.append([task, size, name, 1000 * error, error / max(own, 1e-12), limit])
        if name != "metric-l1" and task.startswith("range"):
            result.expect(error > own, f"{task} of {size}: {name} has less error than metric-l1")


def table_1(random: Random) -> Result:
    """Collector modes: what each keeps, prepares and pays for a query."""
    result = Result(
        "table-1",
        f"Table 1, measured: memory and time of collector modes, {' x '.join(map(str, MODES_SIZES))} cells, "
        f"n = {MODES_REPORTS:,}",
        ["mode", "kept bytes", "prepare s", "query ms"],
        [],
        f"a query: mean over {MODES_QUERIES} random ranges; all but single frequencies give standard errors too",
    )
    mechanism = build(
        {"mechanism": "metric-l1", "epsilon": EPSILON, "domain": {"kind": "grid", "sizes": list(MODES_SIZES)}}
    )
    assert isinstance(mechanism, MetricL1Signs)
    generator = np.random.default_rng(4)
    reports = mechanism.perturb(generator.integers(0, MODES_SIZES, (MODES_REPORTS, len(MODES_SIZES))), random)
    ends = np.sort(generator.integers(0, MODES_SIZES, (MODES_QUERIES, 2, len(MODES_SIZES))), axis=1)
    low, high = ends[:, 0], ends[:, 1]
    state, folding = _timed(lambda: mechanism.fold(mechanism.empty(), reports))
    estimate, estimating = _timed(lambda: mechanism.estimate(state))
    single, kept = SingleFrequencies(estimate.estimate), KeptReports(mechanism, reports["bits"])
    modes: list[tuple[str, int, float, Callable[[Any, Any], Any]]] = [
        ("prefix sums", estimate.signs.nbytes, folding + estimating, lambda a, b: estimate.ranges(a, b).value),
        ("single frequencies", single.shares.nbytes, folding + estimating, single.ranges),
        ("on the fly", kept.bits.nbytes, 0.0, lambda a, b: kept.ranges(a, b).value),
    ]
    answers = []
    for name, size, prepare, ranges in modes:
        started = time.perf_counter()
        answers.append(
            np.array([ranges(low[query : query + 1], high[query : query + 1])[0] for query in range(len(low))])
        )
        result.rows.append([name, size, prepare, 1000 * (time.perf_counter() - started) / len(low)])
    for name, given in zip(("single frequencies", "on the fly"), answers[1:], strict=True):
        result.expect(bool(np.allclose(given, answers[0], atol=1e-9)), f"{name} gives other answers")
    return result


def large_grid(random: Random) -> Result:
    """A million cells: the fold against the matrix product that it is made of, and a query."""
    mechanism = build(
        {"mechanism": "metric-l1", "epsilon": EPSILON, "domain": {"kind": "grid", "sizes": list(LARGE_GRID)}}
    )
    assert isinstance(mechanism, MetricL1Signs)
    cells = np.random.default_rng(6).integers(0, LARGE_GRID, (LARGE_REPORTS, len(LARGE_GRID)))
    reports, state = mechanism.perturb(cells, random), mechanism.empty()
    half = prod(LARGE_GRID[: len(LARGE_GRID) // 2])
    left, right = (np.ones((2048, half), dtype=np.float32) for _ in range(2))  # two: a matrix with itself costs half
    product = np.empty((half, half), dtype=np.float32)
    folds, products = [], []

    def multiply() -> None:
        """As many rows as the fold has reports, so that a busy machine slows both alike."""
        for _ in range(LARGE_REPORTS // len(left)):
            np.matmul(left.T, right, out=product)

    for _ in range(3):
        folds.append(_timed(lambda: mechanism.fold(state, reports))[1] / LARGE_REPORTS)
        products.append(_timed(multiply)[1] / LARGE_REPORTS)
    estimate, estimating = _timed(lambda: mechanism.estimate(state))
    low, high = np.full((1, len(LARGE_GRID)), 2), np.full((1, len(LARGE_GRID)), 7)
    estimate.ranges(low, high)
    _, querying = _timed(lambda: estimate.ranges(low, high))
    ratio = min(products) / min(folds)
    result = Result(
        "large-grid",
        f"Speed on a million cells, D = {len(LARGE_GRID)}, m = {LARGE_GRID[0]}",
        ["fold reports/s", "matrix product reports/s", "ratio", "estimate s", "query ms"],
        [[1 / min(folds), 1 / min(products), ratio, estimating, 1000 * querying]],
        "best of three; a fold cannot be faster than its matrix product",
    )
    result.expect(ratio >= 0.5, f"the fold reaches {ratio:.2f} of the matrix product, less than half")
    return result


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    done = work()
    return done, time.perf_counter() - started
