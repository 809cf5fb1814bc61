"""A lost or frozen node of a cluster costs its own shards only."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import redis
from numpy.typing import NDArray

from hearsay.collector.dispatch.dispatcher import CollectorSettings, Dispatcher
from hearsay.collector.errors import PublishRefused, ShardsAway
from hearsay.collector.health.troubles import troubles
from hearsay.collector.store.connect import open_servers
from hearsay.collector.store.registry import Registered, Registry, look_at_parts
from hearsay.collector.store.shard import Shard
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.estimator.materialise import Materialiser
from hearsay.estimator.serving.exporter import PipelineMetrics
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops import cli
from hearsay.ops.server.embedded import EmbeddedServer
from hearsay.producer.fleet import Fleet
from tests.cluster import QUEUE_URL, EmbeddedCluster, frozen, killed, until
from tests.identity import survey_table
from tests.pipeline import fold_all, singles, state_of

SHARDS = 6


@pytest.fixture
def registered(registry: Registry) -> Registered:
    found = registry.add(parse(survey_table("identity", 60, answers={"minimum_reports": 1})), SHARDS)
    for number, shard in enumerate(found.shards):
        Writer(shard).publish(singles(shard, range(10 * number, 10 * (number + 1))), 10)
        fold_all(shard)
    return found


FAULTS: dict[str, Callable[[EmbeddedServer], AbstractContextManager[None]]] = {"killed": killed, "frozen": frozen}


@contextmanager
def without(cluster: EmbeddedCluster, registry: Registry, address: str, fault: str) -> Iterator[None]:
    """The node of this address is away; afterwards everybody is well."""
    node = next(each for each in cluster.masters if address == f"127.0.0.1:{each.port}")
    with FAULTS[fault](node):
        yield
    until(lambda: all(cluster.sees_all_well(each) for each in cluster.masters))
    until(lambda: not any(each.away for each in registry.servers.nodes()))


def other_than(registry: Registry, registered: Registered) -> str:
    """The address of a node that holds shards and not the registry."""
    return next(shard.node.address for shard in registered.shards if shard.node is not registry.node)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("which", ["a node", "the registry's"])
def test_a_lost_node_costs_its_own_shards_only(
    cluster: EmbeddedCluster, registry: Registry, registered: Registered, tmp_path: Path, fault: str, which: str
) -> None:
    """Snapshot, metrics, status, complaints and queries, and that healthy shards are looked at quickly."""
    materialiser = Materialiser(registry, tmp_path)
    materialiser.run_once()
    before = registered.shards[0].snapshot_version("all")
    address = registry.node.address if which == "the registry's" else other_than(registry, registered)
    lost = [shard for shard in registered.shards if shard.node.address == address]
    healthy = [shard for shard in registered.shards if shard.node.address != address]
    assert healthy
    with without(cluster, registry, address, fault):
        for shard in healthy:
            Writer(shard).publish(singles(shard, [shard.shard]), 1, deadline_s=5)
        done = materialiser.run_once()  # from here on everybody knows that it is away
        assert done.away == (["buckets"] if lost else [])
        started = time.monotonic()
        materialiser.run_once()
        families = {family.name: family for family in PipelineMetrics(registry, {}).collect()}
        listed = troubles(registry)
        assert time.monotonic() - started < 2
        up = {sample.labels["node"]: sample.value for sample in families["hearsay_node_up"].samples}
        assert up == {node.address: float(node.address != address) for node in registry.servers.nodes()}
        assert families["hearsay_up"].samples[0].value == 1
        published = families["hearsay_reports_published"].samples
        assert {sample.labels["shard"] for sample in published} == {str(shard.shard) for shard in healthy}
        assert any(f"node {address} does not answer" in trouble.words for trouble in listed)
        if lost:
            with pytest.raises(ShardsAway, match=f"shards {', '.join(str(each.shard) for each in lost)} do not answer"):
                registered.look()
            if registered.shards[0] in healthy:
                assert registered.shards[0].snapshot_version("all") == before  # it stays
            with pytest.raises(PublishRefused):
                Writer(lost[0]).publish(singles(lost[0], [1]), 1, deadline_s=0.2)
    materialiser.run_once()
    fold_rest(registered)
    assert sum(int(shard.read("all").state["hist"].sum()) for shard in registered.shards) >= 60 + len(healthy)


def fold_rest(registered: Registered) -> None:
    for shard in registered.shards:
        fold_all(shard)


def test_the_collector_cuts_on_healthy_nodes_while_one_is_frozen(
    cluster: EmbeddedCluster, registry: Registry, registered: Registered, server: EmbeddedServer, prefix: str
) -> None:
    """Over five seconds as many ranges of healthy shards are cut as before."""
    with redis.Redis.from_url(os.environ.get(QUEUE_URL, server.url)) as queue:
        dispatcher = Dispatcher(open_servers(cluster.url), queue, CollectorSettings(prefix))
        stop = threading.Event()
        thread = threading.Thread(target=dispatcher.run, args=(stop,))
        thread.start()
        try:
            address = other_than(registry, registered)
            healthy = [shard for shard in registered.shards if shard.node.address != address]
            until(lambda: not any(shard.look().mark for shard in registered.shards))
            with without(cluster, registry, address, "frozen"):
                slowest = 0.0
                for _ in range(5):
                    started = time.monotonic()
                    dispatcher.queue.empty()  # as workers do: where jobs wait, ranges are cut later
                    for shard in healthy:
                        Writer(shard).publish(singles(shard, [1]), 1)
                    until(lambda: not any(shard.look().mark for shard in healthy))
                    slowest = max(slowest, time.monotonic() - started)
                    time.sleep(max(1.0 - (time.monotonic() - started), 0))
                assert slowest < 2.5
        finally:
            stop.set()
            thread.join()


@pytest.mark.parametrize("which", ["a node", "the registry's"])
def test_status_and_list_say_what_is_away(
    cluster: EmbeddedCluster,
    registry: Registry,
    registered: Registered,
    which: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    address = registry.node.address if which == "the registry's" else other_than(registry, registered)
    at = ["--redis-url", cluster.url, "--prefix", registry.prefix]
    registry.add(parse(survey_table("identity", 4, name="fresh")), SHARDS)
    with without(cluster, registry, address, "killed"):
        assert cli.run(["status", "--interval", "0", *at]) == 0
        assert f"node {address} does not answer" in capsys.readouterr().out
        assert cli.run(["status", "--check", "--interval", "0", *at]) == 1
        assert f"node {address} does not answer" in capsys.readouterr().err
        if which == "a node":
            lost = sorted(shard.shard for shard in registered.shards if shard.node.address == address)
            told = f"shard{'' if len(lost) == 1 else 's'} {', '.join(map(str, lost))}"
            capsys.readouterr()
            assert cli.run(["status", "--interval", "0", "--json", *at]) == 0
            rows = [row for row in json.loads(capsys.readouterr().out) if row["survey"] == "buckets"]
            assert {row["shard"] for row in rows} == {shard.shard for shard in registered.shards} - set(lost)
            assert {(row["shards"], tuple(row["shards_away"])) for row in rows} == {(SHARDS, tuple(lost))}
            assert cli.run(["status", "--interval", "0", *at]) == 0
            assert f"without {told}" in " ".join(capsys.readouterr().out.split())
            assert cli.run(["status", "buckets", "--interval", "0", *at]) == 0
            assert f"buckets, {told}: no answer" in capsys.readouterr().out
            assert cli.run(["survey", "list", *at]) == 0
            assert cli.run(["query", "buckets", "top", "3", *at]) == 2
            assert "do not answer" in capsys.readouterr().err
            assert cli.run(["produce", "fresh", "--devices", "20", *at]) == 0  # to the shards that answer
            assert "20 reports published to fresh" in capsys.readouterr().out


class Everybody:
    """One device for each value, in order."""

    def __init__(self) -> None:
        self.taken = 0

    def take(self, count: int) -> NDArray[np.int64]:
        self.taken += count
        return np.arange(self.taken - count, self.taken)


def test_a_fleet_deals_to_the_shards_that_answer(cluster: EmbeddedCluster, registry: Registry) -> None:
    """What was on its way to the lost node waits for it; all others go on, and everybody is counted once."""
    devices, registered = 400, registry.add(parse(survey_table("identity", 400)), SHARDS)
    sending = threading.Thread(
        target=Fleet(registered, seeded(1), frame=2, rate=400.0).run, args=(Everybody(), devices)
    )

    def published(shards: Sequence[Shard]) -> int:
        return sum(seen.published_reports for seen in look_at_parts([replace(registered, shards=tuple(shards))], {}))

    sending.start()
    until(lambda: published(registered.shards) >= devices // 4)
    lost = other_than(registry, registered)
    others = [shard for shard in registered.shards if shard.node.address != lost]
    with without(cluster, registry, lost, "killed"):
        until(lambda: published(others) >= 0.8 * devices)
        time.sleep(0.3)
        assert sending.is_alive()  # it waits for what was on its way, and for whether the node still has the rest
    sending.join(30)
    assert not sending.is_alive()
    for shard in registered.shards:
        fold_all(shard)
    assert sum(state_of(shard)["hist"] for shard in registered.shards).tolist() == [1] * devices
