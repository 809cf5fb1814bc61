"""What others will rely on is on a replica before they hear of it: one that takes over must know of it too."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from hearsay.collector import growth
from hearsay.collector.errors import ServerError
from hearsay.collector.growth import set_shards
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.ops.server.embedded import EmbeddedServer
from tests.cluster import frozen, until
from tests.identity import survey_table


@pytest.fixture
def replica(own_server: EmbeddedServer, tmp_path: Path) -> Iterator[EmbeddedServer]:
    """It has all that the server has."""
    own_client = redis.Redis.from_url(own_server.url)
    secret = own_client.connection_pool.connection_kwargs["password"]
    own_client.config_set("repl-diskless-sync-delay", 0)
    own_client.config_set("appendfsync", "always")
    with EmbeddedServer(tmp_path / "replica", extra=["--masterauth", secret]) as running:
        with redis.Redis.from_url(running.url) as client:
            client.replicaof("127.0.0.1", own_server.port)
            until(lambda: client.info("replication")["master_link_status"] == "up")
        yield running
    own_client.close()


def test_what_no_replica_has_is_not_kept(own_server: EmbeddedServer, replica: EmbeddedServer) -> None:
    shard = Registry(redis.Redis.from_url(own_server.url)).add(parse(survey_table("identity", 10))).shards[0]
    assert shard.is_kept()
    with frozen(replica):
        assert not shard.is_kept()
    until(shard.is_kept)
    replica.kill()
    until(shard.is_kept)  # it cannot take over, and need not be waited for


def test_new_shards_count_before_a_writer_hears_of_them(
    own_server: EmbeddedServer, replica: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = Registry(redis.Redis.from_url(own_server.url))
    registry.add(parse(survey_table("identity", 10)), 2)
    with frozen(replica):
        growing = threading.Thread(target=set_shards, args=(Registry(registry.servers), "buckets", 4))
        growing.start()
        until(lambda: len(registry.get("buckets").shards) > 2)
        time.sleep(0.3)
        seen = registry.get("buckets")
        assert (len(seen.active), len(seen.shards)) == (2, 4)
    growing.join()
    assert len(registry.get("buckets").active) == 4
    monkeypatch.setattr(growth, "KEPT_WITHIN_S", 0.1)
    with frozen(replica), pytest.raises(ServerError, match="not on disk and on a replica yet; nothing was changed"):
        set_shards(registry, "buckets", 8)
    assert len(registry.get("buckets").active) == 4
