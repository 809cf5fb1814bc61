"""A survey on a real server, driven step by step in one process."""

import os
from collections.abc import Iterable
from typing import cast

import numpy as np
import redis

from hearsay.collector.store.client import Client
from hearsay.collector.store.ranges import Range
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.store.shard import Shard
from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.collector.writer import Entry
from hearsay.mechanisms import State
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.workers.context import Context, set_current
from hearsay.workers.fold import fold_range
from tests.cluster import QUEUE_URL
from tests.identity import survey_table


def queue_of(client: Client) -> redis.Redis:
    """Where RQ's queue is: on the same server, and beside a cluster on one of its own."""
    if isinstance(client, redis.RedisCluster):
        return redis.Redis.from_url(os.environ[QUEUE_URL])
    return cast(redis.Redis, client)


def buckets(client: Client, prefix: str, size: int, **more: object) -> Registered:
    """A registered survey in which every value has its own bucket; jobs of this process work on it."""
    set_current(Context(client, prefix))
    return Registry(client, prefix).add(parse(survey_table("identity", size, **more)))


def singles(store: Shard, values: Iterable[int]) -> list[Entry]:
    """One entry a value."""
    mechanism = store.survey.mechanism
    reports = mechanism.perturb(np.fromiter(values, dtype=np.int64), seeded(1))
    return [(b"r", payload) for payload in codec(mechanism).encode_singles(reports)]


def frame(store: Shard, values: Iterable[int]) -> list[Entry]:
    """One frame of all values."""
    mechanism = store.survey.mechanism
    reports = mechanism.perturb(np.fromiter(values, dtype=np.int64), seeded(1))
    return [(b"f", codec(mechanism).encode_frame(reports))]


def cut_all(store: Shard) -> list[Range]:
    """Every range that can be cut, however young."""
    found: list[Range] = []
    while isinstance(cut := store.cut(age_ms=0), Range):
        found.append(cut)
    return found


def fold(store: Shard, found: Range) -> str:
    """What the job of this range answers."""
    return fold_range(store.survey.name, store.survey.tag8, store.shard, found.seq, found.nonce)


def fold_all(store: Shard) -> None:
    """Cut and fold everything there is."""
    for found in cut_all(store):
        assert fold(store, found) == "ok"


def state_of(store: Shard, window: str = "all") -> State:
    """Accumulator plus deltas."""
    return store.read(window).state


def watched(client: Client, store: Shard, seconds: float) -> None:
    """As if the collector had watched so much time go by."""
    client.hincrby(store.keys.meta, "observed_ms", int(seconds * 1_000))


class Tail:
    """A server that loses its tail: everything goes back to what it was. On a cluster all masters lose it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._transaction = not isinstance(client, redis.RedisCluster)
        self._names = client.keys("*")
        pipeline = client.pipeline(transaction=self._transaction)
        for key in self._names:
            pipeline.dump(key)
            pipeline.pttl(key)
        self._held = pipeline.execute()

    def lose(self) -> None:
        pipeline = self._client.pipeline(transaction=self._transaction)
        if self._transaction:
            pipeline.flushall()
        else:
            self._client.flushall(target_nodes=redis.RedisCluster.PRIMARIES)
        for key, content, ttl_ms in zip(self._names, self._held[::2], self._held[1::2], strict=True):
            pipeline.restore(key, max(ttl_ms, 0), content)
        pipeline.execute()
