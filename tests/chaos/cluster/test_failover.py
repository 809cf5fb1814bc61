"""A master dies and its replica takes over: writers and readers follow, every value is counted once."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from hearsay.collector.store.connect import open_servers
from hearsay.collector.store.registry import Registry
from hearsay.collector.store.shard import Shard
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.estimator.readings import Readings
from hearsay.workers.context import Context, set_current
from tests.chaos.losses.explained import Happened, explain
from tests.chaos.losses.journal import keep_journal
from tests.cluster import EmbeddedCluster, behind, frozen, killed, until
from tests.identity import known_to_this_process, survey_table
from tests.pipeline import fold_all, singles, state_of

__all__ = ["known_to_this_process"]
VALUES, BATCH = 4_000, 20
pytestmark = pytest.mark.slow


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(tmp_path, replicas=1) as running:
        yield running


@pytest.mark.parametrize("fault", [killed, frozen])
def test_a_replica_takes_over_from_its_master(cluster: EmbeddedCluster, prefix: str, fault: type) -> None:
    servers = open_servers(cluster.url)
    set_current(Context(servers, prefix))
    registry, readings = Registry(servers, prefix), Readings()
    (shard,) = registry.add(parse(survey_table("identity", VALUES))).shards
    before, run_id = shard.node, shard.node.run_id()
    published, replaced = threading.Event(), threading.Event()

    def publish() -> None:
        writer = Writer(shard)
        for start in range(0, VALUES, BATCH):
            writer.publish(singles(shard, range(start, start + BATCH)), BATCH)
            if start == VALUES // 2:
                published.set()
                replaced.wait(60)
        writer.close()

    thread = threading.Thread(target=publish)
    thread.start()
    published.wait(60)
    fold_all(shard)
    registered = registry.get("buckets")
    assert readings.live(registered).reports > 0
    master = next(node for node in cluster.masters if before.address.endswith(f":{node.port}"))
    with fault(master):
        replaced.set()
        thread.join(90)
        assert not thread.is_alive()
        assert shard.node is not before
        assert shard.node.run_id() != run_id  # it counts as a restart
        fold_all(shard)
        assert (readings.live(registered).state["hist"] == 1).all()
    until(lambda: all(cluster.sees_all_well(node) for node in cluster.nodes))
    assert (Readings().live(registered).state["hist"] == 1).all()
    servers.disconnect()


def answers(shard: Shard) -> bool:
    """Whether its new server is known."""
    try:
        shard.status()
    except redis.exceptions.RedisError:
        return False
    return True


@pytest.mark.parametrize("ends", [False, True])
def test_what_a_replica_never_had_is_lost_only_with_its_writer(
    cluster: EmbeddedCluster, prefix: str, ends: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Shard, "publish", Shard.publish)  # given back after the test
    keep_journal(tmp_path)
    servers = open_servers(cluster.url)
    set_current(Context(servers, prefix))
    (shard,) = Registry(servers, prefix).add(parse(survey_table("identity", 10))).shards
    writer, replica_of = Writer(shard), dict(zip(cluster.masters, cluster.nodes[3:], strict=True))
    writer.publish(singles(shard, range(5)), 5)
    assert shard.is_kept()
    master = next(node for node in cluster.masters if shard.node.address.endswith(f":{node.port}"))
    began, address = time.time(), shard.node.address
    with behind(replica_of[master], master):
        writer.publish(singles(shard, range(5, 10)), 5)
        if ends:
            writer.close()
        master.kill()
    until(lambda: cluster.ask(replica_of[master], "ROLE")[0] == b"master")
    fault = Happened("failover to a replica that was behind", began, time.time(), frozenset({address}), forgets=True)
    if not ends:
        writer.check()
    until(lambda: answers(shard))
    fold_all(shard)
    assert state_of(shard)["hist"].tolist() == [1] * 5 + [int(not ends)] * 5
    if ends:
        (loss,) = explain({"buckets": range(5, 10)}, tmp_path, [fault])
        print(loss)
        assert (loss.reports, loss.story.allowed) == (5, True)
    servers.disconnect()
