"""The largest domains on the whole path: 2^22 cells from devices through Redis to snapshots and answers.

Two workers fold what a fleet sends; the deltas are merged and the window materialised in a process of its own, whose
memory is measured (`large_estimator`); a snapshot answers a million ranges. Before anything is reported the accumulator
is compared, number by number, with a single fold of the same reports.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import parse
from hearsay.estimator.snapshots import loading
from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.bench.path import FRAMED_TARGET
from hearsay.ops.bench.row import Row, best_seconds
from hearsay.ops.server.processes import Pipeline
from hearsay.ops.server.waiting import wait_until_folded
from hearsay.producer.fleet import BATCH_REPORTS, Fleet
from hearsay.producer.populations import Population

CELLS = 1 << 22
REPORTS = 4 << 20
QUERIES = 1_000_000
MECHANISMS = ("haar", "hierarchical")
WAIT_S, ESTIMATOR_S = 60.0, 60.0
# Targets. Every job passes over a state of 64 to 128 MB: half of what smaller domains must reach. A delta must stay far
# below the state that it is a part of.
PATH_TARGET = FRAMED_TARGET / 2
MATERIALISE_S, MEMORY_MB, QUERY_MS, QUERIES_S, MERGE_S, DELTA_SHARE = 2.0, 1_000.0, 1.0, 2.0, 2.0, 0.1


def rows(
    cells: int = CELLS, reports: int = REPORTS, queries: int = QUERIES, mechanisms: tuple[str, ...] = MECHANISMS
) -> Iterator[Row]:
    """Eight rows per mechanism."""
    with tempfile.TemporaryDirectory() as directory, Pipeline(Path(directory)) as pipeline:
        for mechanism_id in mechanisms:
            yield from _rows(pipeline, mechanism_id, cells, reports, queries)


def _rows(pipeline: Pipeline, mechanism_id: str, cells: int, reports: int, queries: int) -> Iterator[Row]:
    registry = pipeline.registry()
    domain = {"kind": "ordinal", "size": cells}
    survey = parse({"name": f"large-{mechanism_id}", "mechanism": mechanism_id, "epsilon": 1.1, "domain": domain})
    registered = registry.add(survey)
    title = f"{mechanism_id}, 2^{cells.bit_length() - 1} cells"
    drawn = Population("cauchy", survey.mechanism.domain, np.random.default_rng(1)).take(reports)
    before = _fold_seconds(registry)
    started = time.perf_counter()
    Fleet(registered, seeded(1)).run(_Crowd(drawn), reports)
    wait_until_folded(registered, reports, WAIT_S)
    seconds = time.perf_counter() - started
    folding = _fold_seconds(registry, before) - before
    yield Row(f"whole path, {title}", reports / seconds, "reports/s", PATH_TARGET)
    yield Row(
        f"one worker (read, decode, fold, commit), {title}",
        reports / folding,
        "reports/s",
        PATH_TARGET,
        note="two side by side",
    )
    waiting = registered.shards[0].status()
    dense_mb = 8e-6 * registered.shards[0].cells
    yield Row(
        f"deltas, {title}",
        waiting.delta_bytes / max(waiting.deltas, 1) / 1e6,
        "MB a delta",
        DELTA_SHARE * dense_mb,
        at_most=True,
        ceiling=dense_mb,
        ceiling_name="the state as int64",
        note=f"{waiting.deltas} deltas, {waiting.delta_bytes / reports:.2g} bytes per report",
    )
    measured = _estimator(pipeline, registered)
    yield Row(f"merge of {waiting.deltas} deltas, {title}", measured["merge_s"], "s", MERGE_S, at_most=True)
    memory = registry.node.memory()
    yield Row(
        f"materialise (read, estimate, publish, write), {title}",
        measured["materialise_s"],
        "s",
        MATERIALISE_S,
        at_most=True,
        note=f"a new process' first pass {measured['first_s']:.2g} s; estimate alone {measured['estimate_s']:.2g} s, "
        f"snapshot of {measured['snapshot_mb']:.0f} MB; "
        f"server up to {memory['used_memory_peak'] / 1e6:.0f} MB",
    )
    yield Row(f"memory of that process, {title}", measured["memory_mb"], "MB", MEMORY_MB, at_most=True)
    yield Row(f"range query afterwards, {title}", measured["query_ms"], "ms", QUERY_MS, at_most=True)
    _check_identity(registered, drawn)
    estimate: Any = loading.load(pipeline.snapshots / survey.name / "all").estimate()
    ends = np.sort(np.random.default_rng(2).integers(0, cells, size=(2, queries, 1)), axis=0)
    (asking,) = best_seconds(lambda: estimate.ranges(*ends), repeats=2)
    yield Row(f"{queries:,} ranges against a snapshot, {title}", asking, "s", QUERIES_S, at_most=True)
    registry.delete(survey.name)
    registry.servers.disconnect()


class _Crowd:
    """People whose values were drawn before: drawing from millions of cells takes longer than perturbing."""

    def __init__(self, cells: Indices) -> None:
        self._cells, self._taken = cells, 0

    def take(self, count: int) -> Indices:
        self._taken += count
        return self._cells[self._taken - count : self._taken]


def _fold_seconds(registry: Registry, above: float = -1.0) -> float:
    """The total duration of all jobs, as the workers record it after each commit."""
    give_up = time.monotonic() + WAIT_S
    while (seconds := registry.timings.observed("fold", "folds")[0]) <= above:
        if time.monotonic() > give_up:
            raise RuntimeError("the workers must count the seconds of their jobs, got none")
        time.sleep(0.05)
    return seconds


def _estimator(pipeline: Pipeline, registered: Registered) -> dict[str, Any]:
    """Merge, materialise and query in a process of its own."""
    module = "hearsay.ops.bench.large_estimator"
    words = [sys.executable, "-P", "-m", module, pipeline.server.url, str(pipeline.snapshots)]
    done = subprocess.run(
        [*words, registered.survey.name], capture_output=True, text=True, timeout=ESTIMATOR_S, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"the estimator's process ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def _check_identity(registered: Registered, cells: Indices) -> None:
    """The law: accumulator plus deltas are a single fold of every report."""
    mechanism, random = registered.survey.mechanism, seeded(1)
    expected = mechanism.empty()
    for start in range(0, len(cells), BATCH_REPORTS):  # as the fleet perturbed them
        mechanism.fold(expected, mechanism.perturb(cells[start : start + BATCH_REPORTS], random))
    state = registered.shards[0].read("all").state
    wrong = [name for name, array in expected.items() if not np.array_equal(array, state[name])]
    if wrong:
        raise RuntimeError(f"the accumulator must equal a single fold of the same reports; {wrong[0]} does not")
