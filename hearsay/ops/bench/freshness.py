"""The age of an answer: from PUBLISH to a snapshot that contains the report, at half of the full load."""

import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from hearsay.collector.store.registry import Registered
from hearsay.collector.survey.survey import parse
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.bench.path import FRAMED_TARGET
from hearsay.ops.bench.row import Row
from hearsay.ops.server.processes import Pipeline
from hearsay.producer.fleet import Fleet
from hearsay.producer.populations import Population

PUBLISH_S, WARM_UP_S = 20.0, 3.0  # how long devices publish; reports of the warm-up are left out
PERIOD_S = 1.0  # the default of the setting period_s: a report waits for up to one period, however fast the rest is
TARGET_S = 2.0
LOAD = FRAMED_TARGET / 2  # reports per second: half of the load that the pipeline must carry
# 2^16 cells of two int64 arrays: a state of 1 MB.
NAME = "fresh"
SURVEY = {"name": NAME, "mechanism": "hrr", "epsilon": 1.1, "domain": {"kind": "categorical", "size": 1 << 16}}


def rows() -> Iterator[Row]:
    """One row: the 99th percentile over all reports."""
    with tempfile.TemporaryDirectory() as directory, Pipeline(Path(directory), estimator=True) as pipeline:
        registered = pipeline.registry().add(parse(SURVEY))
        published_at: list[tuple[float, int]] = [(time.monotonic(), 0)]
        publishing = threading.Thread(target=_publish, args=(pipeline, published_at))
        publishing.start()
        visible_at = _watch(registered, publishing)
        publishing.join()
        yield Row(
            f"publish to snapshot, p99 at {LOAD / 1e6:g} M reports/s, state of 1 MB",
            _p99(published_at, visible_at),
            "s",
            TARGET_S,
            at_most=True,
            ceiling=PERIOD_S,
            ceiling_name="the estimator's period",
        )


def _publish(pipeline: Pipeline, published_at: list[tuple[float, int]]) -> None:
    """Publish at a steady rate; record after every batch the time and the number of reports published so far."""
    registered = pipeline.registry().get(NAME)
    people = Population("zipf", registered.survey.mechanism.domain, np.random.default_rng(1))

    def note(count: int) -> None:
        published_at.append((time.monotonic(), published_at[-1][1] + count))

    Fleet(registered, seeded(1), rate=LOAD).run(people, int(LOAD * PUBLISH_S), note)


def _watch(registered: Registered, publishing: threading.Thread) -> list[tuple[float, int]]:
    """Poll the snapshot of all windows; record the time and its number of reports whenever that has grown."""
    seen: list[tuple[float, int]] = [(time.monotonic(), 0)]
    deadline = time.monotonic() + 3 * PUBLISH_S
    while (publishing.is_alive() or seen[-1][1] < LOAD * PUBLISH_S) and time.monotonic() < deadline:
        document = registered.shards[0].snapshot("all")
        if document is not None and document["reports"] > seen[-1][1]:
            seen.append((time.monotonic(), document["reports"]))
        time.sleep(0.02)
    return seen


def _p99(published_at: list[tuple[float, int]], visible_at: list[tuple[float, int]]) -> float:
    """The 99th percentile of (visible - published) over all reports after the warm-up; both lists count upwards."""
    begin = published_at[0][0] + WARM_UP_S
    visible_times, visible_counts = np.array(visible_at).T
    ages, weights = [], []
    for (_, before), (moment, count) in pairwise(published_at):
        first = int(np.searchsorted(visible_counts, count))
        if moment >= begin:
            ages.append(visible_times[first] - moment if first < len(visible_times) else np.inf)
            weights.append(count - before)
    order = np.argsort(ages)
    cumulative = np.cumsum(np.array(weights)[order])
    return float(np.array(ages)[order][np.searchsorted(cumulative, 0.99 * cumulative[-1])])
