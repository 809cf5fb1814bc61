"""A server that Sentinel names: found by its name, followed when another one takes its place."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import redis
from rq import SimpleWorker
from rq.serializers import JSONSerializer

from hearsay.collector.errors import ServerError
from hearsay.collector.queue import fold_queue
from hearsay.collector.store.connect import connect_queue, open_servers
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.ops.server.embedded import HOST, EmbeddedServer, find_server, free_port
from hearsay.ops.server.password import make_private
from hearsay.workers.context import Context, set_current
from hearsay.workers.job import FoldJob
from tests.cluster import until
from tests.identity import survey_table
from tests.pipeline import fold_all, singles

NAME = "main"


class Watched:
    """A master, its replica and a Sentinel that watches them."""

    def __init__(self, directory: Path) -> None:
        self.secret = make_private(directory / "master")
        make_private(directory / "replica")
        (directory / "replica" / "password").write_text(self.secret + "\n")
        at_once = ["--repl-diskless-sync-delay", "0"]  # else it waits five seconds for more replicas
        self.master = EmbeddedServer(directory / "master", extra=["--masterauth", self.secret, *at_once])
        self.replica = EmbeddedServer(directory / "replica", extra=["--masterauth", self.secret])
        self.port, self._directory = free_port(), directory
        self._sentinel: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis+sentinel://:{self.secret}@{HOST}:{self.port}/{NAME}/0"

    def __enter__(self) -> "Watched":
        self.master.start()
        self.replica.start()
        with redis.Redis.from_url(self.replica.url) as client:
            client.replicaof(HOST, str(self.master.port))
            until(lambda: client.info("replication")["master_link_status"] == "up")
        settings = self._directory / "sentinel.conf"
        settings.write_text(
            f"port {self.port}\nbind {HOST}\nsentinel monitor {NAME} {HOST} {self.master.port} 1\n"
            f"sentinel auth-pass {NAME} {self.secret}\nsentinel down-after-milliseconds {NAME} 1000\n"
            f"sentinel failover-timeout {NAME} 5000\n"
        )
        command = [str(find_server()), str(settings), "--sentinel"]
        self._sentinel = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with redis.Redis(host=HOST, port=self.port) as client:
            until(lambda: _replicas(client) == 1)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._sentinel is not None
        self._sentinel.kill()
        self._sentinel.wait()
        self.master.kill()
        self.replica.kill()


def _replicas(client: redis.Redis) -> int:
    try:
        return len(client.execute_command("SENTINEL", "REPLICAS", NAME))
    except redis.exceptions.RedisError:
        return 0


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    with Watched(tmp_path) as running:
        yield running


def test_a_server_is_found_by_its_name_and_followed(watched: Watched) -> None:
    """Data and queue; after a failover the shards count as restarted, and the writer goes on."""
    servers, queue_client = open_servers(watched.url), connect_queue(watched.url)
    set_current(Context(servers, "hs"))
    (shard,) = Registry(servers).add(parse(survey_table("identity", 40))).shards
    writer, before = Writer(shard), shard.look().run_id
    writer.publish(singles(shard, range(20)), 20)
    fold_all(shard)
    queue = fold_queue(queue_client, job_class=FoldJob)
    worker = SimpleWorker([queue], connection=queue_client, serializer=JSONSerializer, job_class=FoldJob)
    worker.work(burst=True, logging_level="WARNING")
    with redis.Redis.from_url(watched.master.url) as client:
        assert client.wait(1, 5_000) == 1
    watched.master.kill()
    writer.publish(singles(shard, range(20, 40)), 20, deadline_s=30)
    assert shard.look().run_id != before
    fold_all(shard)
    assert np.asarray(shard.read("all").state["hist"]).tolist() == [1] * 40
    assert queue.count == 0


def test_a_name_that_no_sentinel_knows(watched: Watched) -> None:
    with pytest.raises(ServerError, match="none knows a server of this name"):
        open_servers(watched.url.replace(f"/{NAME}/", "/other/"))
