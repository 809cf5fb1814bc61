"""What is wrong with a cluster, or with how it is named, is said in one line, with the right exit code."""

import logging
import threading
import time

import pytest
import redis

from hearsay.collector.dispatch.dispatcher import CollectorSettings, Dispatcher
from hearsay.collector.health.troubles import troubles
from hearsay.collector.heartbeats import Heartbeat, alive
from hearsay.collector.store import keys
from hearsay.collector.store.connect import connect_queue, open_servers
from hearsay.collector.store.processes import heartbeats
from hearsay.collector.store.processes.versions import KNOWN
from hearsay.collector.store.registry import Registry
from hearsay.collector.store.servers.cluster import COVERAGE, SLOTS
from hearsay.collector.survey.survey import parse
from hearsay.ops import cli
from hearsay.ops.server.embedded import EmbeddedServer, free_port
from tests.cluster import QUEUE_URL, EmbeddedCluster, until
from tests.identity import survey_table

NO_QUEUE = "queue-url must name a server that is not in cluster mode"
AGES = {"name": "ages", "mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 4}}


def check(cluster: EmbeddedCluster, prefix: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """What `status --check` complains about."""
    capsys.readouterr()
    where = ["--redis-url", cluster.url, "--prefix", prefix]
    code = cli.run(["status", "--check", "--interval", "0", *where])
    return code, capsys.readouterr().err


def test_slots_that_nobody_serves(cluster: EmbeddedCluster, prefix: str, capsys: pytest.CaptureFixture[str]) -> None:
    for node in cluster.masters:
        cluster.ask(node, "CLUSTER", "DELSLOTS", 0, 1, 2)
    code, said = check(cluster, prefix, capsys)
    cluster.ask(cluster.masters[0], "CLUSTER", "ADDSLOTS", 0, 1, 2)
    until(lambda: all(b"slots_assigned:16384" in cluster.ask(node, "CLUSTER", "INFO") for node in cluster.masters))
    assert (code, said) == (1, f"hearsay: cluster: nobody serves 3 of {SLOTS} slots, whose shards wait\n")
    assert check(cluster, prefix, capsys) == (0, "")


def test_a_setting_by_which_one_lost_node_stops_all(
    cluster: EmbeddedCluster, prefix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for setting, expected in (("yes", 1), ("no", 0)):
        for node in cluster.masters:
            cluster.ask(node, "CONFIG", "SET", COVERAGE, setting)
        code, said = check(cluster, prefix, capsys)
        assert code == expected
        assert (f"{COVERAGE} is yes, so that one lost node stops all; set it to no" in said) == bool(code)


def test_no_replica_where_one_is_promised(
    cluster: EmbeddedCluster, prefix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    registry = Registry(open_servers(cluster.url), prefix)
    registry.add(parse(AGES))
    without = "has no replica, and durable = replica is promised: reports there are not acknowledged"
    assert without not in check(cluster, prefix, capsys)[1]
    Heartbeat(registry, "gateway", durable="replica").beat()
    code, said = check(cluster, prefix, capsys)
    assert (code, said.count(without)) == (1, 3)
    Heartbeat(registry, "gateway", durable="disk").beat()
    assert without not in check(cluster, prefix, capsys)[1]
    registry.add(parse({**AGES, "name": "more", "durable": "replica"}))
    assert check(cluster, prefix, capsys)[1].count(without) == 3
    registry.servers.disconnect()


def test_a_queue_that_is_away(
    cluster: EmbeddedCluster,
    prefix: str,
    own_server: EmbeddedServer,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One of four servers: the collector names it once, though it works on all nodes side by side."""
    servers, stop = open_servers(cluster.url), threading.Event()
    Registry(servers, prefix).add(parse(AGES), shards=3)
    collector = Dispatcher(servers, connect_queue(own_server.url), CollectorSettings(prefix))
    own_server.kill()
    thread = threading.Thread(target=collector.run, args=(stop,))
    thread.start()
    words = f"the queue's server at 127.0.0.1:{own_server.port} does not answer"
    try:
        until(lambda: f"hearsay: collector, queue: {words}" in check(cluster, prefix, capsys)[1])
        own_server.start()
        until(lambda: words not in check(cluster, prefix, capsys)[1])
    finally:
        stop.set()
        thread.join()
        servers.disconnect()
    assert [words in record.getMessage() for record in caplog.records if "server" in record.getMessage()] == [True]


@pytest.mark.parametrize("command", ["collect", "work"])
def test_no_queue_url_beside_a_cluster(
    cluster: EmbeddedCluster,
    prefix: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    monkeypatch.delenv(QUEUE_URL, raising=False)
    where = ["--redis-url", cluster.url, "--prefix", prefix]
    for queue in ([], ["--queue-url", cluster.url], ["--queue-url", cluster.nodes[1].url]):
        assert cli.run([command, *where, *queue]) == 2
        *logged, said = capsys.readouterr().err.splitlines()
        assert said.startswith(f"hearsay: {NO_QUEUE}")
        assert "error" not in "".join(logged)


def test_a_list_with_a_wrong_port_ends_a_command(cluster: EmbeddedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["survey", "list", "--redis-url", cluster.url.replace("/0", ",127.0.0.1:1/0")]) == 2
    assert capsys.readouterr().err == (
        "hearsay: redis-url names 127.0.0.1:1, where nobody answers and no node of the cluster is\n"
    )


def test_a_refused_password_is_one_line(
    cluster: EmbeddedCluster, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # as in a command's own process
    assert cli.run(["survey", "list", "--redis-url", cluster.address.replace("redis://", "redis://:wrong@")]) == 2
    said = capsys.readouterr().err
    assert "refused the user name or password" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("command", ["collect", "work", "estimate", "gateway", "status"])
def test_a_process_too_old_for_what_is_stored_exits_with_2(
    server: EmbeddedServer, client: redis.Redis, prefix: str, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    Registry(client, prefix).stored_forms.note(KNOWN._replace(deltas=KNOWN.deltas + 1))
    port = ["--port", str(free_port())] if command in ("estimate", "gateway") else []
    assert cli.run([command, "--redis-url", server.url, "--prefix", prefix, *port]) == 2
    said = capsys.readouterr().err
    assert "install a newer release" in said
    assert said.count("\n") == 1


def test_workers_of_an_old_release_are_seen(client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their heartbeats are keys of their own."""
    registry = Registry(client, prefix)
    registry.add(parse(survey_table("identity", 4)))
    missing = {"no-collector", "no-worker", "no-estimator"}
    assert {each.code for each in troubles(registry)} == missing
    client.set(keys.old_heartbeat(prefix, "worker:old"), "1", ex=30)
    assert {each.code for each in troubles(registry)} == missing  # it was looked for a moment ago
    later = time.monotonic() + heartbeats.OLD_MARKS_S
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert {each.code for each in troubles(registry)} == missing - {"no-worker"}
    assert [(each.role, each.process) for each in alive(registry)] == [("worker", "old")]
    Heartbeat(registry, "worker", "new").beat()
    assert [(each.role, each.process) for each in alive(registry)] == [("worker", "new")]
