"""Bad input and a broken environment end with 2 and one line, never with 3."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from hearsay.collector.dispatch.dispatcher import CollectorSettings, Dispatcher
from hearsay.collector.store.keys import surveys
from hearsay.collector.writer import Writer
from hearsay.ops.server.embedded import EmbeddedServer
from tests.identity import known_to_this_process
from tests.pipeline import buckets, queue_of, singles

__all__ = ["known_to_this_process"]
Hearsay = Callable[..., tuple[int, str, str]]
SURVEY = 'name = "a"\nmechanism = "{}"\nepsilon = {}\n[domain]\nkind = "{}"\nsize = {}\n'


def refused(hearsay: Hearsay, *words: str) -> str:
    code, _, complaint = hearsay(*words)
    assert code == 2, complaint
    *logged, said = complaint.splitlines()
    assert all(line.startswith("{") and '"level": "info"' in line for line in logged)  # a service says that it starts
    assert said.startswith("hearsay: ")
    return said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "a"\n[' + ".".join(["a"] * 5_000) + "]\nb = 1\n", "nested deeper"),
        ('name = "a"\ndomain = ' + "[" * 5_000 + "]" * 5_000, "is not valid TOML"),
        (SURVEY.format("hrr", "1e-300", "categorical", 8), "epsilon must be at least 1e-09"),
    ],
    ids=["deep table", "deep list", "tiny epsilon"],
)
def test_survey_files(hearsay: Hearsay, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.toml").write_text(text)
    assert message in refused(hearsay, "survey", "show", str(tmp_path / "a.toml"))


def test_urls(hearsay: Hearsay) -> None:
    assert "Redis URL must be like" in refused(hearsay, "status", "--redis-url", "redis://127.0.0.1:1/0?bogus=1")
    assert "Redis URL must be like" in refused(hearsay, "status", "--redis-url", "redis://x..y:6379")


def test_a_host_that_no_host_can_be(hearsay: Hearsay, client: redis.Redis) -> None:
    assert "host must be an address of this machine, got x..y" in refused(hearsay, "estimate", "--host", "x..y")


def test_a_data_directory_that_no_snapshot_can_be_written_to(hearsay: Hearsay, tmp_path: Path) -> None:
    (taken := tmp_path / "taken").write_text("a file")
    complaint = refused(hearsay, "estimate", "--data-dir", str(taken))
    assert f"data-dir must be a directory that can be written to, got {taken}: Not a directory" in complaint


def test_a_plugin_that_raises(hearsay: Hearsay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "raising_plugin.py").write_text('raise RuntimeError("boom\\nbang")\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    complaint = refused(hearsay, "query", "a", "cdf", "--plugins", "raising_plugin")
    assert "plugin raising_plugin cannot be used, it raises RuntimeError: boom" in complaint
    sys.modules.pop("raising_plugin", None)


def test_a_deep_snapshot(hearsay: Hearsay, tmp_path: Path) -> None:
    (tmp_path / "snapshot.json").write_text("[" * 100_000 + "]" * 100_000)
    assert "is not a snapshot" in refused(hearsay, "query", "--snapshot", str(tmp_path), "cdf")


def test_a_user_without_rights(hearsay: Hearsay, server: EmbeddedServer, client: redis.Redis) -> None:
    client.acl_setuser("weak", enabled=True, nopass=True, commands=["+info"], keys=["*"])
    url = server.address.replace("redis://", "redis://weak:any@")
    try:
        for words in (("status",), ("survey", "list"), ("query", "a", "cdf"), ("survey", "delete", "a", "--yes")):
            refused(hearsay, *words, "--redis-url", url)
    finally:
        client.acl_deluser("weak")


@pytest.mark.parametrize(
    "record",
    [b"", b"\xff\xfe", b"[]", b"{}", b"null", b'{"survey": 5, "shards": 1}', b"[" * 100_000, b'{"shards": []}'],
    ids=str,
)
def test_a_garbage_record_stops_nobody_else(hearsay: Hearsay, client: redis.Redis, prefix: str, record: bytes) -> None:
    store = buckets(client, prefix, 10).shards[0]
    client.hset(surveys(prefix), "garbage", record)
    assert hearsay("status", "--interval", "0")[0] == 0
    code, out, complaint = hearsay("survey", "list")
    assert code == 0
    assert "buckets" in out
    assert "survey garbage cannot be read by this version" in complaint
    Writer(store).publish(singles(store, range(10)), 10)
    dispatcher = Dispatcher(client, queue_of(client), CollectorSettings(prefix))
    dispatcher.chores()
    dispatcher.dispatch()
    refused(hearsay, "survey", "show", "garbage")
    assert hearsay("survey", "delete", "garbage", "--yes")[0] == 0
    assert hearsay("survey", "delete", "buckets", "--yes")[0] == 0
