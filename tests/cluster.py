"""A real cluster of embedded servers: masters that share the slots, each with replicas where asked for."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import redis

from hearsay.collector.store.servers.cluster import SLOTS
from hearsay.ops.server.embedded import HOST, EmbeddedServer, free_port
from hearsay.ops.server.password import make_private, read_password

ON_CLUSTER = os.environ.get("CLUSTER") == "1"  # `make test CLUSTER=1`
QUEUE_URL = "HEARSAY_QUEUE_URL"
NODE_TIMEOUT_MS = 2_000  # after so long without a sign of life the others take a node for dead
PATIENCE_S = 30.0


def until(true: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + patience_s
    while not true():
        assert time.monotonic() < deadline, "the cluster does not come to it"
        time.sleep(0.02)


class _Client(redis.RedisCluster):
    """Keys are those of all masters, as on one server."""

    def keys(self, pattern: Any = "*", **more: Any) -> Any:
        return super().keys(pattern, target_nodes=redis.RedisCluster.PRIMARIES, **more)


class EmbeddedCluster:
    """Masters and their replicas, each a server of its own; a context manager that stops them all."""

    def __init__(self, directory: Path, masters: int = 3, replicas: int = 0, extra: Sequence[str] = ()) -> None:
        self.directory = directory
        secret = make_private(directory)
        self.nodes: list[EmbeddedServer] = []
        for number in range(masters * (1 + replicas)):
            of_node = directory / str(number)
            make_private(of_node)
            (of_node / "password").write_text(secret + "\n")
            settings = {
                "cluster-enabled": "yes",
                "cluster-port": str(free_port()),
                "cluster-node-timeout": str(NODE_TIMEOUT_MS),
                "cluster-require-full-coverage": "no",
                "masterauth": secret,
            }
            words = [word for name, value in settings.items() for word in (f"--{name}", value)]
            self.nodes.append(EmbeddedServer(of_node, extra=[*words, *extra]))
        self.masters, self._replicas = self.nodes[:masters], self.nodes[masters:]

    @property
    def address(self) -> str:
        """The URL without the password."""
        return f"redis://{','.join(f'{HOST}:{node.port}' for node in self.nodes)}/0"

    @property
    def url(self) -> str:
        """The URL with the password."""
        return self.address.replace("redis://", f"redis://:{read_password(self.directory)}@")

    def ask(self, node: EmbeddedServer, *words: Any) -> Any:
        """What one node answers to a plain command."""
        with redis.Redis.from_url(node.url) as client:
            return client.execute_command(*words)

    def client(self) -> redis.RedisCluster:
        """A client of all of them, for tests that look at keys themselves."""
        first = self.nodes[0]
        return _Client(host=HOST, port=first.port or 0, password=read_password(self.directory))

    def start(self) -> None:
        for node in self.nodes:
            node.start()
        bounds = [SLOTS * number // len(self.masters) for number in range(len(self.masters) + 1)]
        for epoch, (node, (first, after)) in enumerate(zip(self.masters, pairwise(bounds), strict=True), start=1):
            self.ask(node, "CLUSTER", "ADDSLOTSRANGE", first, after - 1)
            self.ask(node, "CLUSTER", "SET-CONFIG-EPOCH", epoch)
        first_node = self.nodes[0]
        for node in self.nodes[1:]:
            self._meet(node, first_node)
        until(lambda: all(self._knows_all(node) for node in self.nodes))
        for number, node in enumerate(self._replicas):
            master = self.masters[number % len(self.masters)]
            self.ask(node, "CLUSTER", "REPLICATE", self.ask(master, "CLUSTER", "MYID"))
        until(lambda: all(self._is_well(node) for node in self.nodes))
        until(lambda: all(self._in_sync(node) for node in self._replicas))

    def _meet(self, node: EmbeddedServer, other: EmbeddedServer) -> None:
        bus = other._extra[other._extra.index("--cluster-port") + 1]
        self.ask(node, "CLUSTER", "MEET", HOST, other.port, bus)

    def _knows_all(self, node: EmbeddedServer) -> bool:
        rows = self.ask(node, "CLUSTER", "NODES").decode().splitlines()
        return len(rows) == len(self.nodes) and not any("handshake" in row for row in rows)

    def sees_all_well(self, node: EmbeddedServer) -> bool:
        """Whether a node takes every other one for alive."""
        return self._is_well(node) and b"fail" not in self.ask(node, "CLUSTER", "NODES")

    def _is_well(self, node: EmbeddedServer) -> bool:
        return b"cluster_state:ok" in self.ask(node, "CLUSTER", "INFO")

    def _in_sync(self, node: EmbeddedServer) -> bool:
        with redis.Redis.from_url(node.url) as client:
            return client.info("replication").get("master_link_status") == "up"

    def flush(self) -> None:
        """Empty every node that takes writes."""
        for node in self.nodes:
            with redis.Redis.from_url(node.url) as client:
                if client.info("replication")["role"] == "master":
                    client.flushall()

    def stop(self) -> None:
        for node in self.nodes:
            node.kill()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()  # those that did start
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


@contextmanager
def frozen(server: EmbeddedServer) -> Iterator[None]:
    """A server that takes connections and answers nothing."""
    assert server.pid is not None
    os.kill(server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


@contextmanager
def behind(replica: EmbeddedServer, master: EmbeddedServer) -> Iterator[None]:
    """A replica that hears nothing more from its master: frozen, and what is on its way to it is dropped.

    Frozen alone it would read on waking what its socket holds, which is more than a moment's reports.
    """
    with frozen(replica):
        with redis.Redis.from_url(master.url) as client:
            client.execute_command("CLIENT", "KILL", "TYPE", "REPLICA")
        yield


@contextmanager
def killed(server: EmbeddedServer) -> Iterator[None]:
    """A server that is gone, and comes back with what its log has."""
    server.kill()
    try:
        yield
    finally:
        server.start()
