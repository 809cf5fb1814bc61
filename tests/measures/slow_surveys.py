"""Many surveys, few reports each: `python -m tests.measures.slow_surveys [SURVEYS [SECONDS]]`, with the real processes.

Every survey gets ten reports a second, in batches of five that go through PUBLISH, on a schedule that does not wait.
Every two seconds all shards are looked at: how old is the oldest entry that is not committed? At the end all that was
published must have been counted once.
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hearsay.collector.store.node import Call
from hearsay.collector.store.registry import Registered, look_at
from hearsay.collector.store.shard import Shard
from hearsay.collector.wire.codec import codec
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.server.processes import Pipeline
from tests.idle import add, processor_s

REPORTS_PER_S, BATCH = 10, 5
STEPS_PER_S = 20  # a second's batches go out in so many pipelines
WARM_S, LOOK_S, DRAIN_S = 6.0, 2.0, 30.0
OLDEST_S = 5.0  # asked for


class Slow(NamedTuple):
    """What was seen; `oldest_s` and `behind_s` are the worst."""

    published_per_s: float
    oldest_s: float  # the oldest entry that was not committed
    behind_s: float  # how late the schedule was: the producer's own fault
    commits_per_s: float
    cores: dict[str, float]  # of the server, and of each command's processes; not of the producer
    drained_s: float


class _Source:
    """Publishes to one shard under a writer's name, batch after batch."""

    def __init__(self, shard: Shard, number: int) -> None:
        mechanism = shard.survey.mechanism
        reports = mechanism.perturb(np.arange(BATCH) % mechanism.domain.size, seeded(number))
        self._words = [word for report in codec(mechanism).encode_singles(reports) for word in (b"r", report)]
        keys = shard.keys
        self._keys = [keys.stream, keys.writers, keys.meta, keys.rounds, keys.marks, keys.hours, keys.published]
        self._name, self.batches = f"slow-{number}", 0

    def call(self) -> Call:
        self.batches += 1
        return Call("publish", self._keys, [self._name, self.batches, BATCH, 0, "", 0, *self._words])


def measure(surveys: int, seconds: float, directory: Path) -> Slow:
    """A pipeline of its own, with so many surveys and ten reports a second for each."""
    with Pipeline(directory, estimator=True, workers=2) as pipeline:
        registry = pipeline.registry()
        added = [add(registry, number) for number in range(surveys)]
        sources = [_Source(registered.shards[0], number) for number, registered in enumerate(added)]
        node, ages = added[0].shards[0].node, [0.0]
        pace = surveys * REPORTS_PER_S / BATCH  # batches a second
        step = max(1, int(pace / STEPS_PER_S))
        started = time.monotonic()
        sent, behind_s, next_look, warm = 0, 0.0, started + WARM_S, started + WARM_S
        before, commits = dict[str, float](), 0
        while (now := time.monotonic()) < started + WARM_S + seconds:
            if now >= next_look:
                next_look = now + LOOK_S
                if now >= warm and not before:
                    before, commits, began = processor_s(pipeline, pipeline.server), _count(added, "commits"), now
                ages.append(_oldest_s(added))
            due = int((now - started) * pace)
            if due - sent < step:
                time.sleep(max(0.0, started + (sent + step) / pace - now))
                continue
            behind_s = max(behind_s, now - started - (sent + step) / pace)
            some = [sources[(sent + each) % surveys] for each in range(step)]
            for status, *_ in node.many([source.call() for source in some]):
                assert status == b"ok", status
            sent += step
        elapsed = time.monotonic() - began
        after = processor_s(pipeline, pipeline.server)
        cores = {name: (used - before[name]) / elapsed for name, used in after.items()}
        commits = _count(added, "commits") - commits
        ages.append(_oldest_s(added))
        ended = time.monotonic()
        published = BATCH * sum(source.batches for source in sources)
        while (folded := _count(added, "folded")) < published and time.monotonic() < ended + DRAIN_S:
            time.sleep(0.05)
        drained_s = time.monotonic() - ended
        assert folded == published, f"{folded} of {published} reports were counted"
    rate = published / (ended - started)
    return Slow(rate, max(ages), behind_s, commits / elapsed, cores, drained_s)


def _oldest_s(surveys: list[Registered]) -> float:
    seen = [look.status for survey in look_at(surveys) for look in survey.shards]
    return max(max(each.backlog_age_s, each.oldest_range_s) for each in seen)


def _count(surveys: list[Registered], name: str) -> int:
    counted = [shards for survey in look_at(surveys) for shards in survey.counted.values()]
    return sum(counters.get(name, 0) for shards in counted for counters in shards)


def main() -> None:
    surveys = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 30.0
    with tempfile.TemporaryDirectory() as folder:
        seen = measure(surveys, seconds, Path(folder) / "slow")
    cores = seen.cores
    for name, value in {**seen._asdict(), "cores": sum(cores.values())}.items():
        print(f"{name:16} {value:10.3f}{f'   at most {OLDEST_S:g}' if name == 'oldest_s' else ''}")
    print("of these cores ", ", ".join(f"{name} {used:.3f}" for name, used in cores.items()))


if __name__ == "__main__":
    main()
