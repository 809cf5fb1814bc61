"""A plug-in in the current folder is found however the program is started: script, `python -m`, services, workers."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearsay.collector.errors import CollectorError
from hearsay.collector.plugins import load_plugins
from hearsay.ops.config import environment
from hearsay.ops.server.embedded import EmbeddedServer
from tests.plugged import plugged

SCRIPT = [str(Path(sys.executable).parent / "hearsay")]
MODULE = [sys.executable, "-m", "hearsay"]
FILES = {
    "from_here/__init__.py": """
from hearsay.mechanisms.tables import Form
MECHANISMS = {"from-here": (Form(("categorical",), "mechanism:FromHere"),)}
""",
    # A module beside the plug-in, imported by a part of it that its tables only name.
    "from_here/mechanism.py": """
import fileinput  # of Python itself, not yet imported by anybody
from beside_from_here import NAME
from hearsay.mechanisms.oracles.grr import GRR
class FromHere(GRR):
    ID = NAME
""",
    "beside_from_here.py": 'NAME = "from-here"\n',
    "json.py": 'raise RuntimeError("the folder is no place for other modules")\n',
    "redis.py": 'raise RuntimeError("the folder is no place for other modules")\n',
    "fileinput.py": 'raise RuntimeError("the folder is no place for other modules")\n',
    "colours.toml": """
name = "colours"
mechanism = "from-here"
epsilon = 2.0
[domain]
kind = "categorical"
size = 4
""",
}
DEVICES, WAIT_S = 500, 30.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a plug-in, and a module that would break whatever imported it."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def run(words: list[str], folder: Path, **settings: object) -> subprocess.CompletedProcess[str]:
    told = os.environ | environment(plugins="from_here", **settings)
    return subprocess.run(words, cwd=folder, env=told, capture_output=True, text=True, timeout=60, check=False)


def test_the_script_and_the_module_find_it(folder: Path) -> None:
    done = run([*SCRIPT, "survey", "show", "colours.toml"], folder)
    assert (done.returncode, done.stderr) == (0, "")
    for name in ("json.py", "redis.py", "fileinput.py"):
        (folder / name).unlink()  # Python itself puts the folder first for `python -m`
    again = run([*MODULE, "survey", "show", "colours.toml"], folder)
    assert (again.returncode, again.stdout) == (0, done.stdout)


def test_it_is_not_found_from_another_folder(folder: Path) -> None:
    (folder / "empty").mkdir()
    done = run([*SCRIPT, "survey", "show", "../colours.toml"], folder / "empty")
    assert done.returncode == 2
    assert "plugins must name modules that can be imported, got 'from_here'" in done.stderr


@pytest.fixture
def services(folder: Path) -> Iterator[EmbeddedServer]:
    """A server, and collector and workers as the Procfile starts them."""
    with EmbeddedServer(folder / "redis") as server:
        told = os.environ | environment(plugins="from_here", redis_url=server.url, workers=1)
        running = [subprocess.Popen([*SCRIPT, command], cwd=folder, env=told) for command in ("collect", "work")]
        yield server
        for process in running:
            process.terminate()
        for process in running:
            process.wait()


def test_collector_and_workers_find_it(folder: Path, services: EmbeddedServer) -> None:
    """Row 6 of an attacker's list: a `redis.py` in the current folder ran in every worker."""
    for words in (("survey", "add", "colours.toml"), ("produce", "colours", "--devices", str(DEVICES))):
        done = run([*SCRIPT, *words], folder, redis_url=services.url)
        assert (done.returncode, done.stderr) == (0, "")
    deadline, folded = time.monotonic() + WAIT_S, 0
    while folded < DEVICES and time.monotonic() < deadline:
        time.sleep(0.5)
        done = run([*SCRIPT, "status", "--interval", "0", "--json"], folder, redis_url=services.url)
        assert done.returncode == 0
        folded = json.loads(done.stdout)[0]["folded_reports"]
    assert folded == DEVICES


def test_the_path_is_left_as_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    before = list(sys.path)
    with plugged(""), monkeypatch.context() as patch:
        for name in ("from_here", "from_here.mechanism", "beside_from_here"):
            patch.delitem(sys.modules, name, raising=False)
        load_plugins("from_here")
        assert sys.path == before
        with pytest.raises(CollectorError):
            load_plugins("not_there_at_all")
        assert sys.path == before
