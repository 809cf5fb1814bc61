"""Every role does its work with the user that `hearsay redis acl` prints, and nothing that it must not do."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import cast

import pytest
import redis

from hearsay.collector.errors import MissingRight
from hearsay.collector.roles import COLLECTOR, ESTIMATOR, GATEWAY, WORKER, Role
from hearsay.collector.store import api_keys
from hearsay.collector.store.client import Client
from hearsay.collector.store.connect import open_servers
from hearsay.collector.store.keys import api_keys as keys_of_gateways
from hearsay.collector.store.keys import surveys
from hearsay.collector.store.registry import Registry
from hearsay.collector.store.servers.permitted import check_queue_rights, check_rights
from hearsay.collector.store.servers.rights import ROLES, users
from hearsay.collector.survey.survey import Survey, parse
from hearsay.ops import cli
from hearsay.ops.config import environment
from hearsay.ops.server import embedded
from hearsay.ops.server.embedded import EmbeddedServer, find_server, free_port, server_version
from hearsay.ops.server.waiting import wait_until_folded
from tests.cluster import QUEUE_URL, EmbeddedCluster
from tests.pipeline import singles

PASSWORD = "of-the-test"
pytestmark = pytest.mark.skipif((server_version(find_server()) or (0,)) < (7, 0), reason="selectors came with 7.0")


@pytest.fixture
def url_of(
    server: EmbeddedServer | EmbeddedCluster, client: redis.Redis, prefix: str
) -> Iterator[Callable[[str], str]]:
    """The URL of a role's user; writers may touch the survey `colours` only."""
    nodes = server.nodes if isinstance(server, EmbeddedCluster) else [server]
    with ExitStack() as stack:
        each_node = [stack.enter_context(redis.Redis.from_url(node.url)) for node in nodes]
        for of_node in each_node:
            for role, rules in users(prefix, "colours").items():
                of_node.execute_command("ACL", "SETUSER", f"{prefix}-{role}", *rules, f">{PASSWORD}")
        yield lambda role: server.address.replace("redis://", f"redis://{prefix}-{role}:{PASSWORD}@")
        for of_node in each_node:
            for role in ROLES:
                of_node.acl_deluser(f"{prefix}-{role}")


def survey(name: str) -> Survey:
    domain = {"kind": "categorical", "size": 4}
    return parse({"name": name, "mechanism": "grr", "epsilon": 1.0, "domain": domain})


def test_none_may_do_everything() -> None:
    for rules in users("hs").values():
        assert "allcommands" not in " ".join(rules)
        assert not [rule for rule in " ".join(rules).replace("(", " ").split() if rule in ("+@all", "~*", "allkeys")]


@contextmanager
def process(prefix: str, url: str, directory: Path, command: str, *words: str) -> Iterator[None]:
    settings = environment(redis_url=url, prefix=prefix, data_dir=directory, log_level="warning", workers=1)
    queue = {QUEUE_URL: os.environ[QUEUE_URL]} if QUEUE_URL in os.environ else {}
    running = subprocess.Popen(
        [sys.executable, "-m", "hearsay", command, *words],
        env={**settings, **queue, "PATH": ""},
        stderr=subprocess.PIPE,
    )
    try:
        yield
    finally:
        running.terminate()
        _, logged = running.communicate(timeout=30)
    assert running.returncode == 0, logged
    assert b"NOPERM" not in logged, logged


def test_every_role_can_do_its_work(
    url_of: Callable[[str], str], client: redis.Redis, prefix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    operator = Registry(client, prefix)
    registered = operator.add(survey("colours"))
    client.execute_command("ACL", "LOG", "RESET")
    with ExitStack() as running:
        running.enter_context(process(prefix, url_of("collector"), tmp_path, "collect"))
        running.enter_context(process(prefix, url_of("worker"), tmp_path, "work"))
        running.enter_context(
            process(prefix, url_of("estimator"), tmp_path, "estimate", "--port", str(free_port()), "--period-s", "0.1")
        )
        store = Registry(open_servers(url_of("writer")), prefix).get("colours").shards[0]
        assert store.publish("w", 0, [], 0).status == "hello"
        assert store.publish("w", 1, singles(store, range(3)), 3).status == "ok"
        store.leave("w")
        gateway = Registry(open_servers(url_of("gateway")), prefix)
        shard, ids = gateway.get("colours").shards[0], {490_000: b"8 random4444"}
        assert shard.publish("g", 1, singles(store, range(3)), 3, ids=ids).status == "ok"
        assert shard.is_kept() in (True, False)
        assert shard.look().birth is not None
        assert gateway.get("colours").look().simulated_reports == 0  # as it asks before simulated reports
        assert api_keys.every(gateway) == []
        gateway.gateway_counts.add({"requests": 1})
        gateway.heartbeats.mark("gateway", "test", 10)
        gateway.heartbeats.unmark("gateway", "test")
        wait_until_folded(registered, 6)
        snapshot = tmp_path / "snapshots" / "colours" / "all"
        deadline = time.monotonic() + 30
        while registered.shards[0].snapshot_version("all") is None or not snapshot.exists():
            assert time.monotonic() < deadline
            time.sleep(0.1)
        for words in (
            ["query", "colours", "frequencies"],
            ["status", "--interval", "0"],
            ["survey", "show", "colours"],
        ):
            assert cli.run([*words, "--json", "--redis-url", url_of("reader"), "--prefix", prefix]) == 0, (
                capsys.readouterr()
            )
    refused = {(entry["username"], entry["object"]) for entry in client.acl_log()}
    # RQ asks for its own address, and status for a setting of a cluster; both do without.
    assert refused <= {(f"{prefix}-worker", "client|list"), (f"{prefix}-reader", "config|get")}


def test_every_role_tries_what_it_must_not(
    url_of: Callable[[str], str], client: redis.Redis, prefix: str, tmp_path: Path
) -> None:
    registry = Registry(client, prefix)
    own, other = (registry.add(survey(name)).shards[0].keys for name in ("colours", "shapes"))
    client.hset(keys_of_gateways(prefix), "id", "{}")
    for key in (own.accumulator("all"), own.counters("all"), own.deltas, own.ranges, own.cursor, own.snapshot("all")):
        client.hset(key, "field", "1")
    everybody = (
        ["FLUSHALL"],
        ["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"],
        ["CONFIG", "GET", "*"],
        ["ACL", "SETUSER", "default", "nopass"],
        ["KEYS", "*"],
        ["SHUTDOWN", "NOSAVE"],
        ["MONITOR"],
        ["BGREWRITEAOF"],
        ["REPLICAOF", "NO", "ONE"],
        ["SCRIPT", "FLUSH"],
        ["FUNCTION", "FLUSH"],
        ["EVAL", "return redis.call('HSET', KEYS[1], 'open', '0')", "1", own.meta],
        ["HSET", surveys(prefix), "colours", "{}"],
        ["HDEL", surveys(prefix), "colours"],
        ["HSET", keys_of_gateways(prefix), "id", "{}"],
        ["SET", "elsewhere", "1"],
        ["GET", "elsewhere"],
        ["DEL", own.stream],
        ["UNLINK", own.meta],
        ["RENAME", own.meta, other.meta],
        ["XADD", own.skipped, "*", "r", "x"],
    )
    close, leave = ["HSET", own.meta, "open", "0"], ["HINCRBY", own.meta, "open", "-1"]
    append, trim = ["XADD", own.stream, "*", "r", "x"], ["XTRIM", own.stream, "MAXLEN", "0"]
    count, tally = ["HSET", own.accumulator("all"), "reports", "9"], ["HSET", own.counters("all"), "folded", "9"]
    commit, cut = ["HSET", own.deltas, "all:1:x", "x"], ["HSET", own.cursor, "id", "9-0"]
    show, next_round = ["HSET", own.snapshot("all"), "json", "{}"], ["HSET", own.rounds, "open", "0"]
    read_keys = ["HGETALL", keys_of_gateways(prefix)]
    by_role = {
        "writer": [
            *(close, leave, ["HDEL", own.meta, "open"], count, tally, commit, cut, show, next_round, trim, read_keys),
            *(["HSET", own.ranges, "1", "x"], ["XRANGE", own.stream, "-", "+"], ["HGETALL", own.deltas], ["SCAN", "0"]),
            *(["XADD", other.stream, "*", "r", "x"], ["HGET", other.meta, "open"], ["RPUSH", other.marks, "x"]),
            *(["HINCRBY", other.published, "entries_in", "1"], ["HSET", other.writers, "w", "9 9"]),
        ],
        "gateway": [close, leave, count, tally, commit, cut, show, next_round, trim],
        "collector": [append, commit, show, tally, next_round, read_keys],
        "worker": [append, trim, close, cut, show, next_round, read_keys],
        "estimator": [append, trim, close, commit, cut, tally, read_keys],
        "reader": [
            *(append, trim, close, leave, count, tally, commit, cut, show, next_round, read_keys),
            ["HSET", f"{prefix}:heartbeats", "worker:x", "1"],
        ],
    }
    assert set(by_role) == set(ROLES)
    before = {key: client.dump(key) for key in client.keys(f"{prefix}:*")}
    for role, more in by_role.items():
        with redis.Redis.from_url(url_of(role)) as acting:
            for words in (*everybody, *more):
                with pytest.raises(redis.exceptions.NoPermissionError):
                    pytest.fail(f"{role}: {words} answered {acting.execute_command(*words)!r}")
    assert {key: client.dump(key) for key in client.keys(f"{prefix}:*")} == before


def test_a_writer_cannot_close_its_survey_by_a_script_either(
    url_of: Callable[[str], str], client: redis.Redis, prefix: str
) -> None:
    store = Registry(client, prefix).add(survey("colours")).shards[0]
    writer = Registry(open_servers(url_of("writer")), prefix).get("colours").shards[0]
    with pytest.raises(redis.exceptions.ResponseError):
        writer.close()
    client.hset(store.keys.published, "open", "0")  # what it may write says nothing about the survey
    assert store.look().open


def test_the_command_prints_what_a_server_takes(
    capsys: pytest.CaptureFixture[str], client: redis.Redis, tmp_path: Path
) -> None:
    assert cli.run(["redis", "acl", "--prefix", "there", "--survey", "colours"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [["user", f"hearsay-{role}"] for role in ROLES]
    assert "~there:{colours.*}:stream" in lines[0]
    assert cli.run(["redis", "acl", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    for role, each in printed.items():
        client.execute_command("ACL", "SETUSER", each["user"], *each["rules"])
        assert client.acl_deluser(each["user"]) == 1, role
    assert cli.run(["redis", "acl", "--survey", "*"]) == 2


@pytest.mark.parametrize("name", embedded.NAMES_ON_PATH)
def test_a_server_on_the_path_loads_the_printed_users(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    """From a file, as an operator does it: a server of 7.0 refuses a file with one command that it does not know."""
    path = shutil.which(name)
    version = None if path is None else server_version(Path(path))
    if path is None or version is None or version < (7, 0):
        pytest.skip(f"no {name} of 7.0 or newer on the PATH")
    assert cli.run(["redis", "acl"]) == 0
    printed = capsys.readouterr().out.replace(" reset on ", f" reset on >{PASSWORD} ")
    (tmp_path / "users.acl").write_text(f"{printed}user default on >{PASSWORD} ~* &* +@all\n")
    port = free_port()
    words = [path, "--port", str(port), "--dir", str(tmp_path), "--save", "", "--aclfile", str(tmp_path / "users.acl")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as running:
        try:
            while not embedded.port_taken(port):
                assert running.poll() is None, running.communicate()[0]
                time.sleep(0.02)
            for role in ROLES:
                with redis.Redis(port=port, username=f"hearsay-{role}", password=PASSWORD) as user:
                    assert user.ping()
                    assert user.wait(0, 1) == 0
                    with pytest.raises(redis.exceptions.NoPermissionError):
                        user.execute_command("CLIENT", "TRACKING", "ON", "BCAST")
            with redis.Redis(port=port, password=PASSWORD) as operator:
                assert {entry["object"] for entry in operator.acl_log()} == {"client|tracking"}
        finally:
            running.terminate()


@pytest.mark.parametrize("words", [["survey", "close", "colours"], ["produce", "colours", "--devices", "3"]])
def test_a_command_of_a_user_without_the_right_says_so(
    url_of: Callable[[str], str],
    client: redis.Redis,
    prefix: str,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
) -> None:
    Registry(client, prefix).add(survey("colours"))
    for role in ("reader", "writer"):
        assert cli.run([*words, "--redis-url", url_of(role), "--prefix", prefix]) == 2
        said = capsys.readouterr().err
        assert said.startswith("hearsay: the Redis server does not let this user do that; name another in HEARSAY_RED")
        assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "role", "other"),
    [
        ("work", "worker", "collector"),
        ("work", "worker", "gateway"),
        ("collect", "collector", "worker"),
        ("estimate", "estimator", "reader"),
        ("gateway", "gateway", "estimator"),
    ],
)
def test_a_role_with_another_roles_user_ends_at_its_start(
    url_of: Callable[[str], str],
    client: redis.Redis,
    prefix: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
    role: str,
    other: str,
) -> None:
    before = {key: client.dump(key) for key in client.keys(f"{prefix}:*")}
    port = ["--port", str(free_port())] if command in ("estimate", "gateway") else []
    words = ["--redis-url", url_of(other), "--prefix", prefix, "--data-dir", str(tmp_path), *port]
    if command in ("collect", "gateway"):
        words = words[:4] + port
    assert cli.run([command, *words]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    article = "an" if role == "estimator" else "a"
    assert error.startswith(f"hearsay: the user {prefix}-{other} may not do what {article} {role} does on ")
    assert f"name the {role}'s own user in HEARSAY_REDIS_URL" in error
    assert PASSWORD not in error
    assert {key: client.dump(key) for key in client.keys(f"{prefix}:*")} == before


@pytest.mark.parametrize("role", [COLLECTOR, WORKER, ESTIMATOR, GATEWAY])
def test_users_with_the_rights_pass_and_nothing_is_written(
    url_of: Callable[[str], str], client: redis.Redis, prefix: str, role: Role
) -> None:
    Registry(client, prefix).add(survey("colours"))
    before = {key: client.dump(key) for key in client.keys("*")}
    check_rights(Registry(client, prefix), role)  # the default user
    check_rights(Registry(open_servers(url_of(role.name)), prefix), role)
    assert {key: client.dump(key) for key in client.keys("*")} == before


def test_a_full_server_is_no_missing_right(
    server: EmbeddedServer | EmbeddedCluster, url_of: Callable[[str], str], client: redis.Redis, prefix: str
) -> None:
    nodes = server.nodes if isinstance(server, EmbeddedCluster) else [server]
    with ExitStack() as stack:
        for node in nodes:
            of_node = stack.enter_context(redis.Redis.from_url(node.url))
            stack.callback(of_node.config_set, "maxmemory", of_node.config_get("maxmemory")["maxmemory"])
            of_node.config_set("maxmemory", 1)
        check_rights(Registry(open_servers(url_of("worker")), prefix), WORKER)


def test_a_queue_that_the_user_may_not_use_is_named(url_of: Callable[[str], str]) -> None:
    words = r"on the queue's server: it lacks HSET on rq:.*HEARSAY_QUEUE_URL"
    with redis.Redis.from_url(url_of("estimator")) as other, pytest.raises(MissingRight, match=words):
        check_queue_rights(cast(Client, other), WORKER)
    with redis.Redis.from_url(url_of("worker")) as own:
        check_queue_rights(cast(Client, own), WORKER)
