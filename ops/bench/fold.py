"""Folding decoded frames on one core, against a bare bincount of the same columns."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from collector.survey import parse
from collector.wire import codec, decode
from mechanisms.randomness import seeded
from ops.bench.row import Row, best_seconds
from producer.distributions import Population
from producer.fleet import frames

CELLS = 1_024
REPORTS = 256 * 4_096  # a full job: 256 frames
TARGET = 20e6
SURVEYS = {
    "hrr": {"kind": "categorical", "size": CELLS},
    "haar": {"kind": "ordinal", "size": CELLS},
}


def rows() -> Iterator[Row]:
    """One row per mechanism."""
    for mechanism_id, domain in SURVEYS.items():
        yield _row(mechanism_id, domain)


def _row(mechanism_id: str, domain: dict[str, Any]) -> Row:
    mechanism = parse({"name": "bench", "mechanism": mechanism_id, "epsilon": 1.1, "domain": domain}).mechanism
    wire = codec(mechanism)
    cells = Population("cauchy", mechanism.domain, np.random.default_rng(1)).take(REPORTS)
    entries = [{b"f": frame} for frame, _ in frames(mechanism, wire, cells, seeded(1))]
    columns = decode(mechanism, entries, wire).reports
    state = mechanism.empty()
    folding, counting = best_seconds(
        lambda: mechanism.fold(state, columns), lambda: [np.bincount(column) for column in columns.values()]
    )
    return Row(
        f"fold {mechanism_id}, {CELLS} cells, one core",
        REPORTS / folding,
        "reports/s",
        TARGET,
        ceiling=REPORTS / counting,
        ceiling_name="numpy bincount of the same columns",
        ratio_target=0.5,
    )
