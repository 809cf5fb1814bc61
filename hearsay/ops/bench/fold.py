"""Folding decoded frames on one core, against a bare bincount of the same columns."""

from collections.abc import Iterator

import numpy as np

from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.collector.wire.decode import decode
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.bench.row import Row, best_seconds
from hearsay.producer.fleet import frames
from hearsay.producer.populations import Population

REPORTS = 256 * 4_096  # a full job: 256 frames
TARGET = 20e6
SURVEYS = (("hrr", 1 << 10), ("haar", 1 << 10), ("haar", 1 << 20), ("haar", 1 << 22))


def rows() -> Iterator[Row]:
    """One row per survey."""
    for mechanism_id, cells in SURVEYS:
        yield _row(mechanism_id, cells)


def _row(mechanism_id: str, size: int) -> Row:
    domain = {"kind": "ordinal", "size": size}
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
        f"fold {mechanism_id}, 2^{size.bit_length() - 1} cells, one core",
        REPORTS / folding,
        "reports/s",
        TARGET,
        ceiling=REPORTS / counting,
        ceiling_name="numpy bincount of the same columns",
        ratio_target=0.5,
    )
