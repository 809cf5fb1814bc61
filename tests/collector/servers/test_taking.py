"""Which nodes of a cluster take reports."""

from hearsay.collector.health.taking import Taking, taking
from hearsay.collector.store.registry import Registry
from tests.cluster import EmbeddedCluster


def test_a_node_whose_memory_is_short_stops_no_other(cluster: EmbeddedCluster, registry: Registry) -> None:
    assert taking(registry.servers, "memory") == Taking(3, {})
    short = cluster.masters[0]
    used = int(cluster.ask(short, "INFO", "memory")["used_memory"])
    cluster.ask(short, "CONFIG", "SET", "maxmemory", int(used / 0.7))
    try:
        seen = taking(registry.servers, "memory")
    finally:
        cluster.ask(short, "CONFIG", "SET", "maxmemory", 0)
    assert seen.trouble() is None
    assert seen.of_parts() == ["1 of 3 nodes take no reports: the server's memory is above 60% of its limit"]
    none = taking(registry.servers, "replica")
    assert none.trouble() == "no reports can be taken: durable = replica is promised, and the server has no replica"
