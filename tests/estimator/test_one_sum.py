"""Of a window with many shards one sum is kept, which stays exact and is not read again when others merge."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import redis

from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.store.shard import Commit, Shard
from hearsay.collector.store.state import PACKED_CHUNKS, PACKED_DELTA, encode_delta, fresh
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.estimator.readings import Readings
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.server.embedded import EmbeddedServer
from hearsay.workers.context import Context, set_current
from tests.identity import known_to_this_process, survey_table
from tests.pipeline import cut_all, fold_all, singles

__all__ = ["known_to_this_process"]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def three(client: redis.Redis, prefix: str) -> Registered:
    set_current(Context(client, prefix))
    return Registry(client, prefix).add(parse(survey_table("identity", 100)), 3)


def deliver(shard: Shard, *values: int) -> None:
    Writer(shard).publish(singles(shard, values), len(values))
    fold_all(shard)


def counts(readings: Readings, registered: Registered) -> list[int]:
    hist = readings.live(registered).state["hist"]
    return [int(count) for count in hist[:6]]


def test_the_sum_stays_exact_whoever_merges(three: Registered) -> None:
    readings, (a, b, c) = Readings(), three.shards
    for number, shard in enumerate(three.shards):
        deliver(shard, number)
    assert counts(readings, three) == [1, 1, 1, 0, 0, 0]
    assert b.compact(b.read("all"))  # another process merges what was read
    deliver(b, 3)
    assert counts(readings, three) == [1, 1, 1, 1, 0, 0]
    deliver(c, 4)
    assert c.compact(c.read("all"))  # and what was not
    assert counts(readings, three) == [1, 1, 1, 1, 1, 0]
    for value in (5, 5):
        deliver(a, value)
        assert a.compact(a.read("all"))  # twice between two looks
    assert counts(readings, three) == [1, 1, 1, 1, 1, 2]
    seen = three.look()
    _, seen = readings.read(seen, seen.windows)
    assert readings.compact(seen, seen.windows, lambda reading: bool(reading.deltas)).merged == 1  # b's 3
    deliver(b, 0)
    assert counts(readings, three) == [2, 1, 1, 1, 1, 2]
    assert counts(Readings(), three) == [2, 1, 1, 1, 1, 2]


def test_a_merge_of_what_was_read_reads_nothing_again(three: Registered, client: redis.Redis) -> None:
    readings = Readings()
    for shard in three.shards:
        deliver(shard, 1, 2)
        assert shard.compact(shard.read("all"))
        deliver(shard, 3)
    assert counts(readings, three) == [0, 3, 3, 3, 0, 0]
    client.config_resetstat()
    for shard in three.shards:
        assert shard.compact(shard.read("all"))
    others = client.info("commandstats")["cmdstat_get"]["calls"]  # their own reading of chunks
    deliver(three.shards[0], 4)
    assert counts(readings, three) == [0, 3, 3, 3, 1, 0]
    assert client.info("commandstats")["cmdstat_get"]["calls"] == others


def test_merges_of_older_releases_are_not_followed(three: Registered, client: redis.Redis) -> None:
    """They do not say what they merged; what an earlier merge said must not be taken for theirs."""
    readings, shard = Readings(), three.shards[0]
    deliver(shard, 0)
    assert counts(readings, three) == [1, 0, 0, 0, 0, 0]
    assert shard.compact(shard.read("all"))
    said = client.hget(shard.keys.accumulator("all"), "merged")
    deliver(shard, 1)
    assert shard.compact(shard.read("all"))
    client.hset(shard.keys.accumulator("all"), "merged", said)
    assert counts(readings, three) == [1, 1, 0, 0, 0, 0]


def wide(client: redis.Redis, prefix: str, shards: int) -> Registered:
    """A survey of haar on 2^22 cells in which every shard holds an accumulator and a delta."""
    table = {"name": "wide", "mechanism": "haar", "epsilon": 1.1, "domain": {"kind": "ordinal", "size": 1 << 22}}
    registered = Registry(client, prefix).add(parse(table), shards)
    mechanism, reports = registered.survey.mechanism, 1 << 20
    vector, state = fresh(mechanism)
    mechanism.fold(state, mechanism.perturb(np.random.default_rng(3).integers(0, 1 << 22, reports), seeded(3)))
    delta = encode_delta(vector, PACKED_DELTA)
    for shard in registered.shards:
        for number in (1, 2):
            shard.publish("w", number, [(b"r", b"\x00")], 1)
            (stretch,) = cut_all(shard)
            assert shard.commit(stretch, Commit("all", delta, reports)) == "ok"
            if number == 1:
                assert shard.compact(shard.read("all"), PACKED_CHUNKS)
    return registered


@pytest.mark.slow
def test_sixteen_wide_shards_fit_into_little_memory(own_server: EmbeddedServer, prefix: str, tmp_path: Path) -> None:
    with redis.Redis.from_url(own_server.url) as client:
        registered = wide(client, prefix, 16)
        words = [sys.executable, "-m", "tests.estimator.one_sum", own_server.url, prefix, str(tmp_path)]
        with subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
            said, _ = running.communicate("pass\n")
    (done, peak_gb), materialised = said.split("\n")[:2], "1"
    print(f"{done} (materialised, merged, failed), {peak_gb} GB")
    assert done.split() == [materialised, "16", "0"]
    assert float(peak_gb) < 0.6
    assert len(registered.shards) == 16
