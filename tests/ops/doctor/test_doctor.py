"""`hearsay doctor`: one line each, 1 where something is wrong."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from hearsay.collector.dispatch.dispatcher import CollectorSettings, Dispatcher
from hearsay.collector.health.troubles import troubles
from hearsay.collector.heartbeats import Heartbeat
from hearsay.collector.queue import fold_queue, queue_address
from hearsay.collector.store.connect import Client
from hearsay.collector.store.registry import Registry
from hearsay.ops.config import Settings
from hearsay.ops.doctor import machine
from tests.estimator.running import estimator
from tests.pipeline import queue_of

Hearsay = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _free_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two ports that nobody has: those of the defaults may be somebody's."""
    for name in ("HEARSAY_PORT", "HEARSAY_GATEWAY_PORT"):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            monkeypatch.setenv(name, str(free.getsockname()[1]))


def test_all_is_well(hearsay: Hearsay, client: Client, prefix: str) -> None:
    registry = Registry(client, prefix)
    for role in ("collector", "worker", "estimator"):
        Heartbeat(registry, role).beat()
    code, out, _ = hearsay("doctor")
    assert code == 0, out
    assert all(line.startswith("ok ") for line in out.splitlines())
    for what in ("python", "packages", "settings", "data directory", "server", "clock", "queue", "worker", "versions"):
        assert any(line.split("  ", 2)[1].strip() == what or f" {what} " in line for line in out.splitlines()), what


def test_missing_roles_and_unknown_settings_are_wrong(
    hearsay: Hearsay, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEARSAY_REDIS_ULR", "x")
    code, out, _ = hearsay("doctor", "--json")
    assert code == 1
    wrong = {row["what"]: row["words"] for row in json.loads(out) if not row["ok"]}
    assert set(wrong) == {"settings", "collector", "worker", "estimator"}
    assert "start one with: hearsay work" in wrong["worker"]


def test_a_server_that_is_away_is_one_line(hearsay: Hearsay) -> None:
    code, out, _ = hearsay("doctor", "--redis-url", "redis://127.0.0.1:1/0")
    assert code == 1
    (line,) = [line for line in out.splitlines() if line.startswith("WRONG")]
    assert "server" in line


def test_a_port_that_something_else_has_is_wrong(hearsay: Hearsay, client: Client) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        finding = machine._port("estimator", "estimate", "127.0.0.1", other.getsockname()[1])
    assert not finding.ok
    assert "taken by something other" in finding.words


def test_an_estimator_of_another_deployment_is_wrong(
    hearsay: Hearsay, client: Client, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers at this deployment's port, and this deployment's server has never seen it."""
    with estimator(Registry(client, f"{prefix}-other"), tmp_path) as there:
        port = str(there.base_url.port)
        monkeypatch.setenv("HEARSAY_PORT", port)

        def at_the_port() -> tuple[bool, str]:
            (row,) = [row for row in json.loads(hearsay("doctor", "--json")[1]) if row["what"] == f"port {port}"]
            return row["ok"], row["words"]

        ok, words = at_the_port()
        assert not ok
        assert words.startswith("taken by a process of another deployment")
        Heartbeat(Registry(client, prefix), "estimator").beat()
        assert at_the_port() == (True, "the estimator answers")


def test_a_password_that_others_can_read_is_wrong(tmp_path: Path) -> None:
    settings = Settings.resolve({"data_dir": str(tmp_path)}, {})
    settings.server_dir.mkdir()
    file = settings.server_dir / "password"
    file.write_text("secret")
    for mode, ok in ((0o600, True), (0o644, False)):
        file.chmod(mode)
        (finding,) = [each for each in machine.machine_findings(settings) if each.what == "permissions"]
        assert finding.ok is ok
        assert "secret" not in finding.words


def test_workers_on_another_queue_are_told_at_once(hearsay: Hearsay, client: Client, prefix: str) -> None:
    connection = queue_of(client)
    collector = Dispatcher(client, connection, CollectorSettings(prefix=prefix, queue="one"))
    collector.heartbeat.beat()
    registry = Registry(client, prefix)
    other = queue_address(fold_queue(connection, prefix, "two"))
    Heartbeat(registry, "worker", queue=other).beat()
    Heartbeat(registry, "estimator").beat()
    (trouble,) = troubles(registry)
    assert trouble.holds_up
    assert trouble.words.startswith("no worker takes jobs from the queue ")
    assert "two" in trouble.words
    assert "give both the same --queue" in hearsay("doctor")[1]
    Heartbeat(registry, "worker", "right", queue=collector.heartbeat.queue).beat()
    assert troubles(registry) == []


def test_a_full_disk_is_told_in_plain_words(hearsay: Hearsay, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(settings: Settings) -> None:
        raise redis.exceptions.ResponseError("MISCONF Errors writing to the AOF file: No space left on device")

    monkeypatch.setattr("hearsay.ops.doctor.server.open_registry", refuse)
    code, out, _ = hearsay("doctor")
    assert code == 1
    assert "the Redis server cannot write to its disk and takes nothing until it can" in out
    assert "MISCONF" not in out


def test_processes_of_this_machine_that_were_killed_are_not_counted(
    hearsay: Hearsay, client: Client, prefix: str
) -> None:
    registry = Registry(client, prefix)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    Heartbeat(registry, "worker", f"{socket.gethostname()}-{gone.pid}").beat()
    Heartbeat(registry, "worker", f"elsewhere-{gone.pid}").beat()
    Heartbeat(registry, "worker").beat()
    assert "2 workers" in hearsay("status", "--interval", "0")[1]
