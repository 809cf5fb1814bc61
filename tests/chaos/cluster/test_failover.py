"""A master dies and its replica takes over: writers and readers follow, every value is counted once."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearsay.collector.store.connect import open_servers
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.estimator.readings import Readings
from hearsay.workers.context import Context, set_current
from tests.cluster import EmbeddedCluster, frozen, killed, until
from tests.identity import known_to_this_process, survey_table
from tests.pipeline import fold_all, singles

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
