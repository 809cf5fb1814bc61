"""Folding decoded frames on one core, against a bare bincount of the same columns."""

from collections.abc import Iterator
from typing import Any

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
ATTRIBUTES = {"kind": "attributes", "names": [f"a{attribute}" for attribute in range(32)], "order": 2}
CHARACTERS = ((1, 90e6), (2, 30e6))  # t of inp-ht, and reports/s that it should fold


def rows() -> Iterator[Row]:
    """One row per survey."""
    for mechanism_id, cells in SURVEYS:
        label = f"{mechanism_id}, 2^{cells.bit_length() - 1} cells"
        yield _row(label, {"mechanism": mechanism_id, "domain": {"kind": "ordinal", "size": cells}}, TARGET)
    for t, target in CHARACTERS:
        yield _row(
            f"inp-ht, t = {t}, pairs of 32 attributes",
            {"mechanism": "inp-ht", "domain": ATTRIBUTES, "options": {"t": t}},
            target,
        )


def _row(label: str, table: dict[str, Any], target: float) -> Row:
    mechanism = parse({"name": "bench", "epsilon": 1.1, **table}).mechanism
    wire = codec(mechanism)
    cells = Population("cauchy", mechanism.domain, np.random.default_rng(1)).take(REPORTS)
    entries = [{b"f": frame} for frame, _ in frames(mechanism, wire, cells, seeded(1))]
    columns = decode(mechanism, entries, wire).reports
    state = mechanism.empty()
    folding, counting = best_seconds(
        lambda: mechanism.fold(state, columns), lambda: [np.bincount(column) for column in columns.values()]
    )
    return Row(
        f"fold {label}, one core",
        REPORTS / folding,
        "reports/s",
        target,
        ceiling=REPORTS / counting,
        ceiling_name="numpy bincount of the same columns",
        ratio_target=0.5,
    )
