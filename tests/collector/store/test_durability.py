"""What a writer is told is stored is on disk or on a replica where that was promised; failovers lose nothing of it."""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import redis

from hearsay.collector.errors import PublishRefused, ServerError, SurveyError
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.ops import cli
from hearsay.ops.server.embedded import EmbeddedServer, free_port
from hearsay.producer.device import Device
from tests.cluster import until as wait_until

AGES = {"name": "ages", "mechanism": "hrr", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 64}}
FAILOVERS = int(os.environ.get("HEARSAY_TEST_FAILOVERS", "2"))


class Door:
    """A port that leads to whichever server is the master now."""

    def __init__(self) -> None:
        self.to = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def lead_to(self, port: int) -> None:
        self.to = port
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._open = []

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                came, _ = self._listening.accept()
                try:
                    on = socket.create_connection(("127.0.0.1", self.to), timeout=1)
                    on.settimeout(None)
                except OSError:
                    came.close()
                    continue
                self._open += [came, on]
                for one, other in ((came, on), (on, came)):
                    threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    @staticmethod
    def _carry(one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while octets := one.recv(1 << 16):
                other.sendall(octets)
        for each in (one, other):
            with suppress(OSError):
                each.close()

    def close(self) -> None:
        self._listening.close()
        self.lead_to(0)


class Pair:
    """A master and a replica that is put in its place."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._number = folder, 0
        self.door = Door()
        self.master = self._start()
        self._password = str(redis.Redis.from_url(self.master.url).connection_pool.connection_kwargs["password"])
        self.replica = self._follow()
        self.door.lead_to(self.master.port)

    def _start(self) -> EmbeddedServer:
        self._number += 1
        server = EmbeddedServer(self._folder / str(self._number), extra=["--repl-diskless-sync-delay", "0"])
        server.start()
        return server

    def _follow(self) -> EmbeddedServer:
        replica = self._start()
        with redis.Redis.from_url(replica.url) as client:
            client.config_set("masterauth", self._password)
            client.config_set("requirepass", self._password)  # one for all, whoever is the master
            client.replicaof("127.0.0.1", self.master.port)
            until = time.monotonic() + 20
            while client.info("replication")["master_link_status"] != "up" and time.monotonic() < until:
                time.sleep(0.05)
        return replica

    def fail_over(self) -> None:
        """The replica falls behind, the master dies, the replica takes over and gets a replica of its own."""
        assert self.replica.pid
        assert self.master.pid
        os.kill(self.replica.pid, signal.SIGSTOP)
        with self.client(self.master.port) as client:
            client.execute_command("CLIENT", "KILL", "TYPE", "REPLICA")  # else it reads on waking what was sent to it
        time.sleep(0.2)  # what is written now reaches nobody
        os.kill(self.master.pid, signal.SIGKILL)
        os.kill(self.replica.pid, signal.SIGCONT)
        with self.client(self.replica.port) as client:
            client.replicaof("NO", "ONE")
        self.master.stop()
        self.master = self.replica
        self.replica = self._follow()
        self.door.lead_to(self.master.port)

    def registry(self) -> Registry:
        return Registry(self.client(self.door.port), "durable")

    def client(self, port: int) -> redis.Redis:
        return redis.Redis(port=port, password=self._password, socket_timeout=2, retry=None)

    def stop(self) -> None:
        self.door.close()
        for server in (self.replica, self.master):
            server.stop()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    pair = Pair(tmp_path)
    try:
        yield pair
    finally:
        pair.stop()


def test_failovers_lose_nothing_that_was_acknowledged(pair: Pair) -> None:
    shard = pair.registry().add(parse(AGES)).shards[0]
    report, end, acknowledged = Device(AGES).report(5), threading.Event(), [0]
    writer = Writer(shard, durable="replica")

    def write() -> None:
        while not end.is_set():
            writer.publish([(b"r", report)] * 10, 10)
            acknowledged[0] += 10

    writing = threading.Thread(target=write)
    writing.start()
    try:
        wait_until(lambda: acknowledged[0] > 0)  # a writer that begins without a replica is refused
        for _ in range(FAILOVERS):
            before = acknowledged[0]
            pair.fail_over()
            told = acknowledged[0]
            client = pair.client(pair.master.port)
            assert client.xlen(shard.keys.stream) >= told  # the live writer adds what was on its way
            client.close()
            until = time.monotonic() + 20
            while acknowledged[0] <= max(before, told) and time.monotonic() < until:
                time.sleep(0.02)
            assert acknowledged[0] > told
    finally:
        end.set()
        writing.join()
    writer.close()
    assert shard.look().published_reports == acknowledged[0]


@pytest.mark.parametrize("level", ["disk", "replica"])
def test_many_batches_are_on_their_way_at_once(pair: Pair, level: str) -> None:
    shard = pair.registry().add(parse({**AGES, "durable": level})).shards[0]
    writer, report = Writer(shard), Device(AGES).report(5)
    told = [writer.send([(b"r", report)], 1) for _ in range(200)]
    assert not all(told)  # it did not wait for each
    writer.settle()
    assert writer.send([(b"r", report)], 1) in (True, False)
    writer.close()
    assert shard.look().published_reports == 201


def test_a_server_that_cannot_promise_it_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = EmbeddedServer(tmp_path, extra=["--appendonly", "no"])
    server.start()
    try:
        shard = Registry(redis.Redis.from_url(server.url), "durable").add(parse(AGES)).shards[0]
        entry = [(b"r", Device(AGES).report(5))]
        with pytest.raises(ServerError, match="keeps no log; set appendonly yes"):
            Writer(shard, durable="disk").publish(entry, 1)
        with pytest.raises(ServerError, match="it has no replica"):
            Writer(shard, durable="replica").publish(entry, 1)
        assert shard.look().published_reports == 0
        assert cli.run(["gateway", "--redis-url", server.url, "--durable", "disk", "--port", str(free_port())]) == 2
        assert "keeps no log; set appendonly yes" in capsys.readouterr().err.splitlines()[-1]
        Writer(shard).publish(entry, 1)
    finally:
        server.stop()


def test_a_replica_that_goes_away_is_waited_for(pair: Pair) -> None:
    shard = pair.registry().add(parse(AGES)).shards[0]
    entry = [(b"r", Device(AGES).report(5))]
    waits: list[str] = []
    writer = Writer(shard, durable="replica", on_wait=waits.append)
    writer.publish(entry, 1)
    assert pair.replica.pid
    os.kill(pair.replica.pid, signal.SIGSTOP)
    with pytest.raises(PublishRefused):
        writer.publish(entry, 1, deadline_s=1.0)
    assert "replica" in waits
    os.kill(pair.replica.pid, signal.SIGCONT)
    writer.publish(entry, 1)
    writer.close()
    assert shard.look().published_reports == 3


def test_a_survey_may_ask_for_more_and_keeps_its_tag_where_it_does_not() -> None:
    assert parse({**AGES, "durable": "disk"}).canonical()["durable"] == "disk"
    assert "durable" not in parse(AGES).canonical()
    with pytest.raises(SurveyError, match="durable must be one of memory, disk, replica"):
        parse({**AGES, "durable": "paper"})
