"""A load test goes on while a node of the cluster is away, and counts shards that are added meanwhile."""

import threading
import time
from pathlib import Path

import pytest
import redis

from hearsay.collector.errors import ShardsAway
from hearsay.collector.growth import set_shards
from hearsay.collector.store.node import Node, NodeAway
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.estimator.materialise import Materialiser
from hearsay.ops.load.watch import Watch
from hearsay.workers.context import Context, set_current
from tests.identity import known_to_this_process, survey_table
from tests.pipeline import buckets, fold_all, singles

__all__ = ["known_to_this_process"]


def away(*_: object) -> None:
    raise NodeAway("node 127.0.0.1:1 does not answer")


def shards_away(*_: object) -> None:
    raise ShardsAway("shards 0 do not answer")


def test_shards_that_are_away_and_new_ones(client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    set_current(Context(client, prefix))
    registry, stop = Registry(client, prefix), threading.Event()
    watch = Watch(registry.add(parse(survey_table("identity", 10)), 1))
    watch.start(time.monotonic())
    assert watch.wait_for(0, 5.0, stop)
    with monkeypatch.context() as patch:
        patch.setattr(Registered, "look", shards_away)
        seen = len(watch.samples)
        time.sleep(0.3)
        assert len(watch.samples) <= seen + 1
    for shard in set_shards(registry, "buckets", 3).shards:
        Writer(shard).publish(singles(shard, range(10)), 10)
        fold_all(shard)
    assert watch.wait_for(30, 5.0, stop)
    assert watch.published == 30
    for question in ("processor_s", "link_s"):
        monkeypatch.setattr(Node, question, away)
    assert watch.finish().busy == 0.0


def test_a_server_that_was_started_anew_is_not_more_than_idle(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Node, "processor_s", lambda _: 5.0)
    watch = Watch(Registry(client, prefix).add(parse(survey_table("identity", 10)), 1))
    watch.start(time.monotonic())
    monkeypatch.setattr(Node, "processor_s", lambda _: 0.1)
    assert watch.finish().busy == 0.0


def test_reports_of_a_window_that_was_deleted_were_in_its_snapshot(
    client: redis.Redis, prefix: str, tmp_path: Path
) -> None:
    registered, stop = buckets(client, prefix, 10, window={"every": "1d", "retain": "1d"}), threading.Event()
    (shard,) = registered.shards
    Writer(shard).publish(singles(shard, range(10)), 10)
    fold_all(shard)
    Materialiser(Registry(client, prefix), tmp_path).run_once()
    watch = Watch(registered)
    watch.start(time.monotonic())
    (window,) = registered.look().windows
    assert shard.purge_window(window.name)
    Writer(shard).publish(singles(shard, range(5)), 5)
    fold_all(shard)
    Materialiser(Registry(client, prefix), tmp_path).run_once()
    watch.wait_visible(5, 5.0, stop)
    watch.finish()
    assert watch.samples[-1].visible == 5
