"""The bench `path`: simulated devices publish to Redis, two workers fold, and the state is read.

The ceiling is what Redis does with the same bytes when nobody folds them: XADD, then XRANGE.
"""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import redis

from hearsay.collector.limits import RANGE_FRAMES, RANGE_SINGLES
from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.collector.wire.decode import FIELD_FRAME, FIELD_SINGLE
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.bench.row import Row
from hearsay.ops.server.processes import Pipeline
from hearsay.ops.server.waiting import total_reports, wait_until_folded
from hearsay.producer.fleet import FRAME, Fleet, frames, singles
from hearsay.producer.populations import Population

SURVEY = {"name": "bench", "mechanism": "hrr", "epsilon": 1.1, "domain": {"kind": "categorical", "size": 1_024}}
FRAMED_REPORTS, SINGLE_REPORTS = 10_000_000, 200_000
WARM_UP_REPORTS = 200_000
REPEATS = 3
FRAMED_TARGET, SINGLE_TARGET = 2e6, 100e3  # reports per second
PIPELINED = 1_000  # XADD commands in one pipeline of the bare run: as many entries as one PUBLISH of the writer has
READ_AT_ONCE = {FIELD_SINGLE: RANGE_SINGLES, FIELD_FRAME: RANGE_FRAMES}  # as many entries as a worker reads at once
BARE_STREAM = "bench:bare"


def rows() -> Iterator[Row]:
    """Frames, then single reports, each beside a bare XADD + XRANGE of the same bytes on the same server."""
    with tempfile.TemporaryDirectory() as directory, Pipeline(Path(directory)) as pipeline:
        _run(pipeline, "warm-up", WARM_UP_REPORTS, FRAME)  # the first job of a worker is slower than the others
        ours, bare = _in_turns(pipeline, "frames", FRAMED_REPORTS, FRAME)
        yield Row(
            f"whole path, frames of {FRAME}",
            ours,
            "reports/s",
            FRAMED_TARGET,
            ceiling=bare,
            ceiling_name="bare XADD + XRANGE of the same frames",
        )
        ours, bare = _in_turns(pipeline, "singles", SINGLE_REPORTS, None)
        yield Row(
            "whole path, one report per entry",
            ours,
            "reports/s",
            SINGLE_TARGET,
            ceiling=bare,
            ceiling_name="bare XADD + XRANGE of the same bytes",
            ratio_target=0.5,
        )


def _in_turns(pipeline: Pipeline, name: str, reports: int, frame: int | None) -> tuple[float, float]:
    """Reports per second on the whole path, and bare: the best of some runs each, in turns on the same machine."""
    ours, bare = [], []
    for _ in range(REPEATS):
        ours.append(_run(pipeline, name, reports, frame))
        bare.append(_bare(pipeline, FIELD_SINGLE if frame is None else FIELD_FRAME, reports))
    return max(ours), max(bare)


def _run(pipeline: Pipeline, name: str, reports: int, frame: int | None) -> float:
    """Reports per second from the first perturbation to the state that holds them all."""
    registry = pipeline.registry()
    registered = registry.add(parse({**SURVEY, "name": name}))
    people = Population("cauchy", registered.survey.mechanism.domain, np.random.default_rng(1))
    started = time.perf_counter()
    Fleet(registered, seeded(1), frame=frame).run(people, reports)
    wait_until_folded(registered, reports)
    folded = total_reports(registered)
    seconds = time.perf_counter() - started
    if folded != reports:
        raise RuntimeError(f"the state must hold {reports} reports, got {folded}")
    registry.delete(name)
    registry.servers.disconnect()
    return reports / seconds


def _bare(pipeline: Pipeline, field: bytes, reports: int) -> float:
    """Reports per second of XADD in pipelines of redis-py, then XRANGE, nothing else; entries have this `field`."""
    mechanism = parse(SURVEY).mechanism
    cells = Population("cauchy", mechanism.domain, np.random.default_rng(1)).take(reports)
    if field == FIELD_FRAME:
        payloads = [frame for frame, _ in frames(mechanism, codec(mechanism), cells, seeded(1))]
    else:
        payloads = list(singles(mechanism, codec(mechanism), cells, seeded(1)))
    with redis.Redis.from_url(pipeline.server.url) as client:
        started = time.perf_counter()
        for start in range(0, len(payloads), PIPELINED):
            batch = client.pipeline(transaction=False)
            for payload in payloads[start : start + PIPELINED]:
                batch.xadd(BARE_STREAM, {field: payload})
            batch.execute()
        last, read = b"-", 0
        while entries := client.xrange(BARE_STREAM, last, "+", count=READ_AT_ONCE[field]):
            read += len(entries)
            last = b"(" + entries[-1][0]
        seconds = time.perf_counter() - started
        client.unlink(BARE_STREAM)
    if read != len(payloads):
        raise RuntimeError(f"the bare stream must hold {len(payloads)} entries, got {read}")
    return reports / seconds
