"""A survey on a real cluster: calls find the node that holds a shard, and follow it when it moves."""

import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import redis

from hearsay.collector.errors import ServerError
from hearsay.collector.store.connect import connect_queue, open_servers
from hearsay.collector.store.node import Node, NodeAway
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.store.servers.cluster import Cluster
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.ops.server.embedded import EmbeddedServer
from tests.cluster import EmbeddedCluster, frozen, until
from tests.identity import survey_table
from tests.pipeline import fold_all, singles

SHARDS = 6


def histogram(registered: Registered) -> list[int]:
    return list(sum(np.asarray(shard.read("all").state["hist"]) for shard in registered.shards))


def test_a_survey_on_three_masters_is_exact(registry: Registry) -> None:
    registered = registry.add(parse(survey_table("identity", 60)), SHARDS)
    assert Counter(shard.node.address for shard in registered.shards).most_common()[0][1] == SHARDS / 3
    for number, shard in enumerate(registered.shards):
        Writer(shard).publish(singles(shard, range(10 * number, 10 * (number + 1))), 10)
        fold_all(shard)
        assert shard.compact(shard.read("all"))
    assert histogram(registered) == [1] * 60
    assert registered.look().waiting_reports == 0
    assert [found.survey.name for found in registry.list()] == ["buckets"]
    assert registry.delete("buckets") > SHARDS
    assert [key for node in registry.servers.nodes() for key in node.keys(f"{registry.prefix}:{{buckets*")] == []


def test_a_shard_is_followed_while_its_slot_moves(cluster: EmbeddedCluster, registry: Registry) -> None:
    """Writers and jobs go on; every value is counted once."""
    registered = registry.add(parse(survey_table("identity", 2_000)), 1)
    (shard,) = registered.shards
    slot = next(number for number, slot in registry.servers._slots.items() if slot is shard.slot)  # type: ignore[attr-defined]
    source = next(node for node in cluster.masters if str(node.port) in shard.node.address)
    target = next(node for node in cluster.masters if node is not source)
    moved = threading.Event()

    def publish() -> None:
        writer, value = Writer(shard), 0
        while value < 2_000:
            writer.publish(singles(shard, range(value, value + 20)), 20)
            value += 20
            if value == 1_000:
                moved.wait(20)

    thread = threading.Thread(target=publish)
    thread.start()
    identity = cluster.ask(target, "CLUSTER", "MYID").decode()
    cluster.ask(source, "CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", identity)
    until(lambda: cluster.ask(source, "CLUSTER", "COUNTKEYSINSLOT", slot) == 0)
    moved.set()
    thread.join()
    fold_all(shard)
    assert shard.compact(shard.read("all"))
    assert histogram(registered) == [1] * 2_000
    assert str(target.port) in shard.node.address


def test_a_frozen_node_is_asked_once_and_then_left_alone_until_it_answers(
    cluster: EmbeddedCluster, registry: Registry
) -> None:
    registered = registry.add(parse(survey_table("identity", 4)), SHARDS)
    by_port = {str(node.port): node for node in cluster.masters}
    first = registered.shards[0].node
    with frozen(by_port[first.address.rpartition(":")[2]]):
        started = time.monotonic()
        with pytest.raises(redis.exceptions.TimeoutError):
            registered.shards[0].look()
        assert time.monotonic() - started < 8
        started = time.monotonic()
        for shard in registered.shards:
            if shard.node is first:
                with pytest.raises(NodeAway, match="does not answer"):
                    shard.look()
            else:
                shard.look()
        assert time.monotonic() - started < 1
    until(lambda: not first.away)
    registered.shards[0].look()


class TestWatch:
    """The thread that looks for nodes that are away."""

    @staticmethod
    def freeze_and_look(cluster: EmbeddedCluster, registry: Registry) -> None:
        registered = registry.add(parse(survey_table("identity", 4)), SHARDS)
        node = registered.shards[0].node
        master = next(master for master in cluster.masters if node.address.endswith(f":{master.port}"))
        with frozen(master), pytest.raises(redis.exceptions.TimeoutError):
            registered.shards[0].look()
        until(lambda: not node.away)
        registered.shards[0].look()

    def test_survives_a_node_that_was_replaced_before(self, cluster: EmbeddedCluster, registry: Registry) -> None:
        known = registry.servers.nodes()[0]
        Node(known.client, cast(Cluster, registry.servers), "127.0.0.1:1").give_up()
        self.freeze_and_look(cluster, registry)

    def test_has_connections_of_its_own(
        self, cluster: EmbeddedCluster, registry: Registry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whoever disconnects closes the connections of every node while the thread runs."""
        callers = set()
        for node in registry.servers.nodes():
            execute = node.client.execute_command

            def noted(*words: Any, execute: Any = execute, **options: Any) -> Any:
                callers.add(threading.current_thread().name)
                return execute(*words, **options)

            monkeypatch.setattr(node.client, "execute_command", noted)
        self.freeze_and_look(cluster, registry)
        assert callers
        assert "hearsay-cluster" not in callers


class TestRefusals:
    def test_nodes_of_two_clusters(self, cluster: EmbeddedCluster, tmp_path: Path) -> None:
        with EmbeddedCluster(tmp_path / "other", masters=1) as other:
            password = cluster.url.partition("@")[0]
            (other_node,) = other.nodes
            cluster.ask(other_node, "CONFIG", "SET", "requirepass", password.rpartition(":")[2])
            url = cluster.url.replace("/0", f",127.0.0.1:{other_node.port}/0")
            with pytest.raises(ServerError, match="names nodes of two clusters"):
                open_servers(url)

    def test_a_list_with_a_wrong_port(self, cluster: EmbeddedCluster) -> None:
        with pytest.raises(ServerError, match=r"names 127\.0\.0\.1:1, where nobody answers and no node of the cluster"):
            open_servers(cluster.url.replace("/0", ",127.0.0.1:1/0"))

    def test_a_node_that_is_down_is_no_reason(self, cluster: EmbeddedCluster) -> None:
        down = cluster.masters[0]
        down.kill()
        try:
            servers = open_servers(cluster.url)
            assert any(not node.away for node in servers.nodes())
            servers.disconnect()
        finally:
            down.start()
            until(lambda: b"cluster_state:ok" in cluster.ask(down, "CLUSTER", "INFO"))

    def test_a_queue_on_a_cluster(self, cluster: EmbeddedCluster) -> None:
        for url in (cluster.url, cluster.nodes[0].url):
            with pytest.raises(ServerError, match="queue-url must name a server that is not in cluster mode"):
                connect_queue(url)

    def test_a_server_that_is_no_node(self, cluster: EmbeddedCluster, own_server: EmbeddedServer) -> None:
        with pytest.raises(ServerError, match=f"names 127.0.0.1:{own_server.port}, which refused the user name or"):
            open_servers(cluster.url.replace("/0", f",127.0.0.1:{own_server.port}/0"))
