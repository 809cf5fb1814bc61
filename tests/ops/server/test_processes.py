"""The whole pipeline as real processes: from the command line to the answers, and how services end."""

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from hearsay.ops import cli
from hearsay.ops.server.embedded import EmbeddedServer, free_port
from hearsay.ops.server.password import read_password
from hearsay.ops.server.processes import Pipeline
from hearsay.ops.server.waiting import wait_until_folded
from tests.ops.server.test_password import is_private

SURVEY = """
name = "minutes"
mechanism = "haar"
epsilon = 2.0
[domain]
kind = "ordinal"
size = 64
[window]
every = "1h"
"""
DEVICES = 40_000


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    with Pipeline(tmp_path_factory.mktemp("pipeline"), workers=1, estimator=True, period_s=0.2) as running:
        yield running


@pytest.fixture(autouse=True)
def _use_it(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARSAY_REDIS_URL", pipeline.server.url)
    monkeypatch.setenv("HEARSAY_DATA_DIR", str(pipeline.directory))


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.run(words) == 0
    return capsys.readouterr().out


def test_from_devices_to_answers(pipeline: Pipeline, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    survey, values = tmp_path / "minutes.toml", tmp_path / "minutes.csv"
    survey.write_text(SURVEY)
    values.write_text("value\n" + "10\n20\n30\n40\n" * (DEVICES // 4))
    run(capsys, "survey", "add", str(survey))
    for how in (["--frame", "1000"], ["--single"]):
        done = run(capsys, "produce", "minutes", "--values", str(values), "--seed", "1", "--json", "--again", *how)
        assert json.loads(done)["reports"] == DEVICES
    wait_until_folded(pipeline.registry().get("minutes"), 2 * DEVICES)

    (row,) = json.loads(run(capsys, "status", "--interval", "0", "--json"))
    assert (row["published_reports"], row["folded_reports"], row["rejected"]) == (2 * DEVICES, 2 * DEVICES, {})
    assert "minutes" in run(capsys, "status", "--interval", "0.1")

    (half,) = json.loads(run(capsys, "query", "minutes", "range", "15", "35", "--json"))
    assert set(half) == {"query", "item", "value", "stderr", "low", "high"}
    assert abs(half["value"] - 0.5) < 6 * half["stderr"] < 0.1
    (counted,) = json.loads(run(capsys, "query", "minutes", "range", "15", "35", "--json", "--count"))
    assert counted["value"] == pytest.approx(2 * DEVICES * half["value"])
    assert "quantile 0.4" in run(capsys, "query", "minutes", "quantile", "0.4", "--window", "last:1")

    out = tmp_path / "snapshot"
    document = json.loads(run(capsys, "snapshot", "minutes", "--out", str(out), "--json"))
    assert document["reports"] == 2 * DEVICES
    assert json.loads(run(capsys, "query", "--snapshot", str(out), "range", "15", "35", "--json")) == [half]

    with urllib.request.urlopen(f"http://127.0.0.1:{pipeline.port}/metrics") as answer:
        assert b"hearsay_" in answer.read()

    assert "closed" in run(capsys, "survey", "close", "minutes")
    (listed,) = json.loads(run(capsys, "survey", "list", "--json"))
    assert listed["closed"] is True
    run(capsys, "survey", "skip", "minutes")
    run(capsys, "survey", "delete", "minutes", "--yes")
    assert json.loads(run(capsys, "survey", "list", "--json")) == []
    assert not (pipeline.snapshots / "minutes").exists()


@pytest.mark.parametrize("service", ["collect", "work", "estimate", "redis"])
def test_services_end_with_0_on_sigterm_and_130_on_an_interrupt(
    service: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HEARSAY_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("HEARSAY_PORT", str(free_port()))
    for number, code in ((signal.SIGTERM, 0), (signal.SIGINT, 130)):
        process = subprocess.Popen([sys.executable, "-m", "hearsay", service], stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        first = process.stderr.readline()  # the log line that says it runs
        process.send_signal(number)
        _, rest = process.communicate(timeout=20)
        assert json.loads(first)["level"] == "info"
        assert process.returncode == code, rest


def test_the_embedded_server_takes_the_commands_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEARSAY_REDIS_URL")
    port = free_port()
    words = ["redis", "--redis-port", str(port), "--data-dir", str(tmp_path), "--redis-maxmemory", "64mb"]
    process = subprocess.Popen(
        [sys.executable, "-m", "hearsay", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        server = EmbeddedServer(tmp_path / "redis", port)
        while not server._answers(process.pid):
            assert process.poll() is None
        with redis.Redis.from_url(server.url) as client:
            assert client.config_get("maxmemory") == {"maxmemory": str(64 << 20)}
        assert cli.run(["survey", "list", "--redis-port", str(port), "--data-dir", str(tmp_path)]) == 0
        assert cli.run(["survey", "list", "--redis-port", str(port), "--data-dir", str(tmp_path / "other")]) == 2
        password = read_password(tmp_path / "redis")
        assert password is not None
        assert password.encode() not in Path(f"/proc/{process.pid}/cmdline").read_bytes()
    finally:
        process.terminate()
        printed = process.communicate(timeout=20)
    assert process.returncode == 0
    assert password.encode() not in b"".join(printed)
    assert is_private(tmp_path / "redis")
    assert list((tmp_path / "redis" / "appendonlydir").iterdir())


def test_a_port_of_the_estimator_that_is_taken(pipeline: Pipeline, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["estimate", "--port", str(pipeline.port), "--log-level", "error"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"port {pipeline.port} on 127.0.0.1 is already taken: hearsay may run there already" in line
    assert line.endswith("stop it, or choose another port")
