"""What `durable` costs a writer: `python -m tests.measures.durable [SECONDS [TURNS]]`.

A writer sends the same frames at each level, several batches on their way at once, and waits at the end until all are
as safe as promised. The levels take turns; the rates are the best of each, beside their share of that of `memory`.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import redis

from hearsay.collector.store.durability import LEVELS, MEMORY
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.collector.writer import Writer
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.server.embedded import EmbeddedServer
from hearsay.producer.fleet import frames

SURVEY = {"name": "rates", "mechanism": "hrr", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 1_024}}
FRAME, BATCH = 4_096, 1  # reports in a frame, frames in a batch
AT_LEAST = 0.5  # of the rate of memory


@contextmanager
def with_replica(folder: Path) -> Iterator[redis.Redis]:
    """A client of a server that has a log and a replica."""
    with EmbeddedServer(folder / "master") as master:
        password = str(redis.Redis.from_url(master.url).connection_pool.connection_kwargs["password"])
        follow = ["--replicaof", f"127.0.0.1 {master.port}", "--masterauth", password]
        with EmbeddedServer(folder / "replica", extra=follow), redis.Redis.from_url(master.url) as client:
            while not client.info("replication")["connected_slaves"]:
                time.sleep(0.05)
            yield client


def rates(client: redis.Redis, seconds: float, turns: int) -> dict[str, float]:
    """Batches a second by level."""
    best = dict.fromkeys(LEVELS, 0.0)
    for _ in range(turns):
        for level in LEVELS:
            best[level] = max(best[level], _rate(client, level, seconds))
    return best


def _rate(client: redis.Redis, level: str, seconds: float) -> float:
    registry = Registry(client, f"rates-{level}")
    registered = registry.add(parse(SURVEY))
    mechanism = registered.survey.mechanism
    values = np.arange(FRAME * BATCH) % mechanism.domain.size
    entries = [(b"f", frame) for frame, _ in frames(mechanism, codec(mechanism), values, seeded(1), FRAME)]
    writer, batches = Writer(registered.shards[0], durable=level), 0
    started = time.monotonic()
    while time.monotonic() < started + seconds:
        writer.send(entries, FRAME * BATCH)
        batches += 1
    writer.settle()
    took = time.monotonic() - started
    writer.close()
    registry.delete("rates")
    return batches / took


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as folder, with_replica(Path(folder)) as client:
        for level, rate in (found := rates(client, seconds, turns)).items():
            share = rate / found[MEMORY]
            print(f"{level:8} {rate:8,.0f} batches/s  {share:.2f} of memory, at least {AT_LEAST:g}")


if __name__ == "__main__":
    main()
