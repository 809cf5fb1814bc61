"""`hearsay gateway` and `hearsay key` as people run them."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
import redis

from hearsay.collector.heartbeats import roles
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.ops.cli import run
from hearsay.ops.commands.gateway import _options
from hearsay.ops.commands.gateway import command as gateway_command
from hearsay.ops.config import Settings, environment
from hearsay.ops.server.embedded import EmbeddedServer, free_port
from tests.collector.gateway.running import Sender, reports_of

SURVEY = {"name": "likes", "mechanism": "hrr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 8}}


@contextmanager
def command(server: EmbeddedServer, prefix: str, *words: str) -> Iterator[tuple[subprocess.Popen[str], Sender]]:
    port = free_port()
    settings = environment(redis_url=server.url, prefix=prefix, log_level="warning", gateway_hold_s=0)
    line = [sys.executable, "-m", "hearsay", "gateway", "--port", str(port), *words]
    with (
        subprocess.Popen(line, env={**os.environ, **settings}, stderr=subprocess.PIPE, text=True) as process,
        Sender(base_url=f"http://127.0.0.1:{port}", timeout=20) as sender,
    ):
        try:
            deadline = time.monotonic() + 30
            while process.poll() is None and time.monotonic() < deadline:
                with suppress(httpx.TransportError):
                    if sender.get("/readyz").status_code == 200:
                        break
                time.sleep(0.05)
            yield process, sender
        finally:
            process.kill()


@pytest.mark.parametrize("origins", ["example.org", "https://example.org/page", "https://a.example https://b.example"])
def test_an_origin_that_no_page_has_is_refused(origins: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["gateway", "--origins", origins]) == 2
    assert "--origins must be origins such as https://example.org" in capsys.readouterr().err


def test_origins_are_taken_as_browsers_write_them() -> None:
    settings = Settings.resolve({"gateway_origins": "https://A.example/, http://127.0.0.1:8000,null,"}, {})
    assert _options(settings).origins == ("https://a.example", "http://127.0.0.1:8000", "null")


def test_the_log_has_the_address(server: EmbeddedServer, prefix: str) -> None:
    with command(server, prefix, "--log-level", "info") as (process, sender):
        assert process.stderr is not None
        first = json.loads(process.stderr.readline())
        assert (first["url"], first["keys"]) == (str(sender.base_url), False)


def test_processes_share_a_port_and_are_replaced(server: EmbeddedServer, client: redis.Redis, prefix: str) -> None:
    registry = Registry(client, prefix)
    survey = registry.add(parse(SURVEY)).survey
    with command(server, prefix, "--processes", "2") as (process, sender):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        pids = [int(pid) for pid in children.read_text().split()]
        assert len(pids) == 2
        os.kill(pids[0], signal.SIGKILL)
        deadline = time.monotonic() + 20
        while len(now := [int(pid) for pid in children.read_text().split()]) != 2 or set(now) == set(pids):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        for _ in range(5):
            with Sender(base_url=sender.base_url, timeout=20) as other:
                assert other.send_reports(reports_of(survey, [1]), "likes").status_code == 202
        assert roles(registry)["gateway"] >= 2
        process.terminate()
        assert process.wait(10) == 0


def test_processes_end_with_the_one_that_made_them(server: EmbeddedServer, client: redis.Redis, prefix: str) -> None:
    with command(server, prefix, "--processes", "2") as (process, _):
        pids = [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
        process.kill()
        deadline = time.monotonic() + 10
        while any(Path(f"/proc/{pid}/cmdline").exists() for pid in pids):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_sigterm_ends_it_with_0(server: EmbeddedServer, client: redis.Redis, prefix: str) -> None:
    registry = Registry(client, prefix)
    survey = registry.add(parse(SURVEY)).survey
    with command(server, prefix) as (process, sender):
        assert sender.send_reports(reports_of(survey, [1]), "likes").status_code == 202
        process.terminate()
        assert process.wait(10) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert roles(registry)["gateway"] == 0
    assert client.hget(f"{prefix}:gateway", "accepted") == b"1"


def key(capsys: pytest.CaptureFixture[str], *words: str) -> object:
    assert run(["key", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_keys_by_command(
    server: EmbeddedServer, client: redis.Redis, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEARSAY_REDIS_URL", server.url)
    Registry(client).add(parse(SURVEY))
    made = key(capsys, "add", "phones", "--survey", "likes")
    assert isinstance(made, dict)
    assert set(made) == {"id", "name", "survey", "created", "key"}
    assert key(capsys, "list") == [{name: value for name, value in made.items() if name != "key"}]
    rotated = key(capsys, "rotate", made["id"])
    assert isinstance(rotated, dict)
    assert (rotated["id"], rotated["key"] == made["key"]) == (made["id"], False)
    assert run(["key", "list"]) == 0
    assert made["id"] in capsys.readouterr().out
    assert key(capsys, "revoke", made["id"]) == {"id": made["id"], "revoked": True}
    assert key(capsys, "list") == []
    assert run(["key", "revoke", made["id"]]) == 2
    assert "hearsay key list" in capsys.readouterr().err
    assert run(["key", "add", "phones", "--survey", "nobody"]) == 2
    assert run(["key", "add", "phones"]) == 0
    assert capsys.readouterr().err.endswith("it is not shown again; gateways take it within 5 s\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--hold-s", "-1"], "--hold-s must be a number of seconds in 0..60"),
        (["--certificate", "x.pem"], "--certificate and --private-key must be given together"),
        (["--certificate", "x.pem", "--private-key", "y.pem"], "No such file"),
        (["--processes", "0"], "--processes must be an integer"),
        (["--host", "192.0.2.1"], "cannot listen on 192.0.2.1"),
    ],
)
def test_bad_settings_are_said_at_once(
    server: EmbeddedServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    said: str,
) -> None:
    monkeypatch.setenv("HEARSAY_REDIS_URL", server.url)
    assert run(["gateway", *words]) == 2
    assert said in capsys.readouterr().err


def test_keys_are_asked_for_beyond_loopback(server: EmbeddedServer, client: redis.Redis, prefix: str) -> None:
    survey = Registry(client, prefix).add(parse(SURVEY)).survey
    for words, code in ((["--host", "0.0.0.0"], "key"), (["--host", "0.0.0.0", "--no-keys"], "202")):
        with command(server, prefix, *words) as (_, sender):
            assert sender.code(reports_of(survey, [1]), "likes") == code


@pytest.mark.parametrize(
    ("words", "level"), [([], None), (["--durable"], "disk"), (["--durable", "replica"], "replica")]
)
def test_durable_alone_means_on_disk(words: list[str], level: str | None) -> None:
    context = gateway_command.make_context("gateway", words)
    assert context.params["durable"] == level
