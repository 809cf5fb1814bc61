"""From state to estimate for large domains, and queries afterwards."""

import resource
from collections.abc import Iterator
from typing import Any

import numpy as np

from collector.survey import parse
from mechanisms.randomness import seeded
from mechanisms.result import Estimate
from ops.bench.row import Row, best_seconds
from producer.distributions import Population
from producer.fleet import BATCH_REPORTS

CELLS = 1 << 20
REPORTS = 1_000_000
TARGET_S = 2.0 / 4  # two seconds are allowed for 2^22 cells
QUERY_TARGET_MS = 1.0
QUERIES = 1_000
SURVEYS: dict[str, dict[str, Any]] = {"haar": {}, "hierarchical": {"fanout": 4, "oracle": "hrr"}}


def rows() -> Iterator[Row]:
    """Two rows per mechanism."""
    for mechanism_id, options in SURVEYS.items():
        yield from _rows(mechanism_id, options)


def _rows(mechanism_id: str, options: dict[str, Any]) -> Iterator[Row]:
    domain = {"kind": "ordinal", "size": CELLS}
    table = {"name": "bench", "mechanism": mechanism_id, "epsilon": 1.1, "domain": domain, "options": options}
    mechanism = parse(table).mechanism
    cells = Population("cauchy", mechanism.domain, np.random.default_rng(1)).take(REPORTS)
    state, random = mechanism.empty(), seeded(1)
    for part in np.array_split(cells, REPORTS // BATCH_REPORTS):
        mechanism.fold(state, mechanism.perturb(part, random))
    made: list[Estimate] = []
    seconds, copying = best_seconds(
        lambda: made.append(mechanism.estimate(state)),
        lambda: [array.astype(np.float64) for array in state.values()],
        repeats=3,
    )
    estimate = made[-1]
    yield Row(
        f"materialise {mechanism_id}, 2^20 cells",
        seconds,
        "s",
        TARGET_S,
        at_most=True,
        ceiling=copying,
        ceiling_name="one pass over the state",
        note=f"memory of the process up to {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB",
    )
    ends = np.sort(np.random.default_rng(2).integers(0, CELLS, size=(QUERIES, 2, 1)), axis=1)
    (asking,) = best_seconds(lambda: [estimate.ranges(pair[:1], pair[1:]) for pair in ends], repeats=3)
    yield Row(f"range query, {mechanism_id}, 2^20 cells", 1e3 * asking / QUERIES, "ms", QUERY_TARGET_MS, at_most=True)
