"""Other users of the machine reach the embedded server's port, and neither its data nor its password."""

import stat
from pathlib import Path

import pytest
import redis

from hearsay.ops.config import Settings
from hearsay.ops.errors import ConfigurationError
from hearsay.ops.server.connection import open_registry
from hearsay.ops.server.embedded import EmbeddedServer
from hearsay.ops.server.password import FILE, make_private, read_password


def is_private(directory: Path) -> bool:
    """Whether folders have mode 0700 and files 0600, this one and all below it."""
    paths = [directory, *directory.rglob("*")]
    return all(stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600) for path in paths)


def test_nobody_is_answered_without_the_password(server: EmbeddedServer) -> None:
    with redis.Redis.from_url(server.address) as stranger, pytest.raises(redis.AuthenticationError):
        stranger.keys()


def test_folder_and_files_are_the_owners_alone_and_the_password_stays(tmp_path: Path) -> None:
    """As an earlier version left them: readable by everybody."""
    directory = tmp_path / "redis"
    (directory / "appendonlydir").mkdir(parents=True, mode=0o755)
    (directory / "server.log").touch(0o644)
    with EmbeddedServer(directory) as server, redis.Redis.from_url(server.url) as client:
        client.set("kept", "1")
        client.bgrewriteaof()
        server.restart()
        password = read_password(directory)
        assert is_private(directory)
    assert password is not None
    assert password not in server.log.read_text()
    assert make_private(directory) == password


def test_commands_get_the_password_from_the_data_directory(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "redis") as server:
        settings = Settings.resolve({"redis_port": server.port, "data_dir": tmp_path}, {})
        assert settings.redis_url == server.address
        assert settings.with_password().redis_url == settings.with_password().queue_url == server.url
        assert open_registry(settings).names() == []
    password = read_password(tmp_path / "redis")
    assert password is not None
    for shown in (repr(settings.with_password()), str(settings.with_password().shown())):
        assert password not in shown


def test_a_named_server_gets_no_embedded_password(tmp_path: Path) -> None:
    make_private(tmp_path / "redis")
    settings = Settings.resolve({"redis_url": "redis://elsewhere:6379", "data_dir": tmp_path}, {})
    assert settings.with_password() == settings
    apart = Settings.resolve({"queue_url": "redis://elsewhere:6379", "data_dir": tmp_path}, {}).with_password()
    assert apart.queue_url == "redis://elsewhere:6379"
    assert "@" in apart.redis_url


def test_a_password_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(ConfigurationError, match=r"cannot be read: .*; run this as the user who runs the server"):
        read_password(tmp_path)
