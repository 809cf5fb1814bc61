"""From state to estimate for large domains, and queries afterwards."""

import resource
from collections.abc import Iterator
from typing import Any

import numpy as np

from hearsay.collector.survey.survey import parse
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.bench.row import Row, best_seconds
from hearsay.producer.fleet import BATCH_REPORTS
from hearsay.producer.populations import Population

CELLS = 1 << 22
REPORTS = 1_000_000
TARGET_S = 2.0
QUERY_TARGET_MS = 1.0
QUERIES = 1_000
MECHANISMS = ("haar", "hierarchical")


def rows() -> Iterator[Row]:
    """Two rows per mechanism."""
    for mechanism_id in MECHANISMS:
        yield from _rows(mechanism_id)


def _rows(mechanism_id: str) -> Iterator[Row]:
    domain = {"kind": "ordinal", "size": CELLS}
    mechanism = parse({"name": "bench", "mechanism": mechanism_id, "epsilon": 1.1, "domain": domain}).mechanism
    cells = Population("cauchy", mechanism.domain, np.random.default_rng(1)).take(REPORTS)
    state, random = mechanism.empty(), seeded(1)
    for part in np.array_split(cells, REPORTS // BATCH_REPORTS):
        mechanism.fold(state, mechanism.perturb(part, random))
    made: list[Any] = []

    def make() -> None:
        made.clear()  # before the next one: its memory is what the note is about
        made.append(mechanism.estimate(state))

    seconds, copying = best_seconds(
        make,
        lambda: [array.astype(np.float64) for array in state.values()],
        repeats=3,
    )
    (estimate,) = made
    yield Row(
        f"materialise {mechanism_id}, 2^{CELLS.bit_length() - 1} cells",
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
    title = f"range query, {mechanism_id}, 2^{CELLS.bit_length() - 1} cells"
    yield Row(title, 1e3 * asking / QUERIES, "ms", QUERY_TARGET_MS, at_most=True)
