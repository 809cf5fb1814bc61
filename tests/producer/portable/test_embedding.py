"""The examples work, and the page shows them as they are."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from runpy import run_path

import pytest
import redis

from hearsay import Device
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import load
from hearsay.ops.demo.scene import SURVEYS
from hearsay.ops.server.embedded import EmbeddedServer
from tests.collector.gateway.running import Sender, gateway

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"


def example(name: str) -> Path:
    """The file of this name, in the folder of its example."""
    (path,) = EXAMPLES.rglob(name)
    return path


def run(sender: Sender, name: str, folder: Path) -> str:
    """What an example prints."""
    words = [str(example(name)), str(sender.base_url).rstrip("/"), "session-minutes", "42"]
    no_proxy = {**os.environ, "NO_PROXY": "*"}
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, env=no_proxy, cwd=folder
    )
    return done.stdout if done.returncode == 0 else done.stderr


def test_ten_lines_of_python_send_a_report(client: redis.Redis, prefix: str, tmp_path: Path) -> None:
    registered = Registry(client, prefix).add(load(SURVEYS / "session-minutes.toml"))
    with gateway(client, prefix) as sender:
        assert run(sender, "device.py", tmp_path).startswith("sent\n")
        assert "a device answers it once" in run(sender, "device.py", tmp_path)
        assert json.loads(run(sender, "small_device.py", tmp_path)) == {"accepted": 1, "rejected": 0}
    assert client.xlen(registered.shards[0].keys.stream) == 2


def test_a_small_device_that_another_server_refuses_says_so_in_one_line(tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as other:  # refuses with a page for people
        threading.Thread(target=other.serve_forever, daemon=True).start()
        words = [str(example("small_device.py")), f"http://127.0.0.1:{other.server_port}", "session-minutes", "42"]
        done = subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, check=False, env={**os.environ, "NO_PROXY": "*"}
        )
        other.shutdown()
    assert done.returncode == 1
    assert done.stderr == "HTTP Error 501: Unsupported method ('GET')\n"


@pytest.mark.parametrize("name", ["device.py", "small_device.py"])
@pytest.mark.parametrize("words", [[], ["http://127.0.0.1:1", "session-minutes"], ["http://127.0.0.1:1", "s", "{red"]])
def test_an_example_says_how_it_is_called(name: str, words: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(example(name)), *words], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert f"python {name} http://127.0.0.1:8788 session-minutes 42" in done.stderr or "does not answer" in done.stderr


def test_a_gateway_of_one_s_own(server: EmbeddedServer, client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARSAY_REDIS_URL", server.url)
    registered = Registry(client).add(load(SURVEYS / "session-minutes.toml"))
    device = Device(registered.survey)
    reports = [device.report(value) for value in range(20)]
    run_path(str(example("own_gateway.py")))["Intake"]("session-minutes").take(reports)
    stored = [entry[b"r"] for _, entry in client.xrange(registered.shards[0].keys.stream)]
    assert sorted(stored) == sorted(reports)


def test_the_page_shows_the_examples() -> None:
    page = (ROOT / "docs" / "how-to" / "devices.md").read_text(encoding="utf-8")
    for name in ("device.py", "small_device.py", "page.html", "own_gateway.py"):
        assert example(name).read_text(encoding="utf-8") in page, name
    code = [line for line in example("device.py").read_text().splitlines() if line and not line.startswith('"""')]
    assert len(code) <= 10
    assert len(example("page.html").read_text().splitlines()) == 10
