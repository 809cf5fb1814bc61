"""Flag, then environment, then default; secrets are never shown."""

from dataclasses import dataclass, fields
from pathlib import Path

import click
import pytest
import redis
from click.testing import CliRunner

from hearsay.collector import roles
from hearsay.collector.dispatch.dispatcher import CollectorSettings
from hearsay.estimator.serving.service import EstimatorSettings
from hearsay.ops import config
from hearsay.ops.cli import cli, run
from hearsay.ops.commands import estimate
from hearsay.ops.config import TABLE, Settings, unknown_variables, without_password
from hearsay.ops.errors import ConfigurationError
from hearsay.ops.server.embedded import EmbeddedServer
from hearsay.ops.terminal import options
from hearsay.workers.context import WorkerSettings


def test_flag_wins_over_environment_over_default() -> None:
    assert Settings.resolve({}, {}).workers == 2
    assert Settings.resolve({}, {"HEARSAY_WORKERS": "3"}).workers == 3
    assert Settings.resolve({"workers": "4"}, {"HEARSAY_WORKERS": "3"}).workers == 4
    assert Settings.resolve({"workers": None}, {"HEARSAY_WORKERS": ""}).workers == 2


def test_the_table_has_every_field_once() -> None:
    derived = {"own_server"}
    assert [setting.name for setting in TABLE] == [
        entry.name for entry in fields(Settings) if entry.name not in derived
    ]
    assert all(setting.help.endswith(".") for setting in TABLE)
    assert all(setting.default or setting.otherwise for setting in TABLE)


def test_a_named_server_wins_over_the_embedded_one() -> None:
    embedded = Settings.resolve({"redis_port": "7001"}, {})
    assert (embedded.redis_url, embedded.own_server) == ("redis://127.0.0.1:7001/0", False)
    assert embedded.queue_url == embedded.redis_url
    own = Settings.resolve({}, {"HEARSAY_REDIS_URL": "redis://elsewhere:6379/1"})
    assert (own.redis_url, own.own_server) == ("redis://elsewhere:6379/1", True)
    assert own.queue_url == own.redis_url


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        ("WORKERS", "0", "an integer in 1..256"),
        ("WORKERS", "two", "an integer in 1..256"),
        ("PORT", "70000", "an integer in 1..65535"),
        ("PERIOD_S", "nan", "a number of seconds in 0.05..86400"),
        ("PERIOD_S", "soon", "a number of seconds"),
        ("PREFIX", "a b", "letters, digits"),
        ("LOG_LEVEL", "loud", "one of debug, info"),
        ("DEAD_LETTER_PAYLOAD", "maybe", "yes or no"),
        ("REDIS_MAXMEMORY", "much", "such as 512mb or 2gb"),
        ("REDIS_MAXMEMORY", "2gigs", "one of the units b, k, kb, m, mb, g and gb"),
        ("REDIS_MAXMEMORY", "1.5gb", "a number of bytes"),
        ("REDIS_MAXMEMORY", "9" * 30, "a number of bytes"),
        ("REDIS_MAXMEMORY", "2gb\n", "a number of bytes"),
    ],
)
def test_what_is_not_allowed_is_named(name: str, text: str, allowed: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Settings.resolve({}, {f"HEARSAY_{name}": text})
    assert str(caught.value).startswith(f"HEARSAY_{name} must be ")
    assert allowed in str(caught.value)
    assert repr(text) in str(caught.value)


def test_every_unit_that_the_check_allows_is_one_of_the_server(own_server: EmbeddedServer) -> None:
    client = redis.Redis.from_url(own_server.url)
    for text, size in (("2GB", 2 << 30), ("700m", 700_000_000), ("700mb", 700 << 20), ("3g", 3_000_000_000),
                       ("900000k", 900_000_000), ("900000kb", 900_000 << 10), ("900000000", 900_000_000),
                       ("900000000b", 900_000_000)):  # fmt: skip
        assert Settings.resolve({"redis_maxmemory": text}, {}).redis_maxmemory == text
        client.config_set("maxmemory", text)
        assert client.config_get("maxmemory") == {"maxmemory": str(size)}
    client.close()


@pytest.mark.parametrize("url", ["redis://u:12?hunter2@h", "redis://:12/hunter2@h", "redis://:12#hunter2@h"])
def test_row_9_a_password_that_ends_nobody_knows_where_is_refused_and_not_shown(url: str) -> None:
    """Row 9 of an attacker's list: the part after / or ? was printed as a path or parameters."""
    with pytest.raises(ConfigurationError, match="written as %2F %3F %23 and %40, got something else") as caught:
        Settings.resolve({"redis_url": url}, {})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://:hunter2@host", "redis://:hunter2@host:port", "hunter2", "redis://"])
def test_a_bad_url_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(ConfigurationError, match="HEARSAY_REDIS_URL must be a URL that starts with") as caught:
        Settings.resolve({}, {"HEARSAY_REDIS_URL": url})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://host:6379/0", "redis://host:6379/0"),
        ("redis://:hunter2@host:6379/0", "redis://:***@host:6379/0"),
        ("rediss://me:hunter2@host:6379/0?a=b", "rediss://me:***@host:6379/0?a=b"),
        ("unix:///run/redis.sock?db=1&password=hunter2", "unix:///run/redis.sock?db=1&password=***"),
        # Row 9 of an attacker's list: names of parameters in other letters.
        ("redis://host:6379/0?%70assword=hunter2", "redis://host:6379/0?password=***"),
        ("redis://host:6379/0?db=1&p%61ssw%6Frd=hunter2", "redis://host:6379/0?db=1&password=***"),
        ("rediss://host:6379/0?ssl_password=hunter2", "rediss://host:6379/0?ssl_password=***"),
        ("redis://me@host:6379/0", "redis://me@host:6379/0"),
    ],
)
def test_passwords_are_never_shown(url: str, shown: str) -> None:
    assert without_password(url) == shown
    settings = Settings.resolve({"redis_url": url}, {})
    assert "hunter2" not in repr(settings)
    assert "hunter2" not in str(settings.shown())
    assert settings.shown()["redis_url"] == shown


def test_the_log_has_the_server_and_what_was_chosen() -> None:
    assert Settings.resolve({}, {}).chosen() == {"redis_url": "redis://127.0.0.1:6399/0"}
    chosen = Settings.resolve({"workers": 5}, {"HEARSAY_KEY": "hunter2"}).chosen()
    assert chosen == {"redis_url": "redis://127.0.0.1:6399/0", "workers": 5, "key": "***"}


def test_the_key_is_a_setting_that_is_never_shown() -> None:
    settings = Settings.resolve({}, {"HEARSAY_KEY": "hunter2"})
    assert settings.key == "hunter2"
    assert Settings.resolve({"key": "hunter3"}, {"HEARSAY_KEY": "hunter2"}).key == "hunter3"
    assert settings.shown()["key"] == "***"
    assert "hunter2" not in repr(settings)


def test_the_token_is_never_shown_and_has_no_flag() -> None:
    settings = Settings.resolve({}, {"HEARSAY_API_TOKEN": "hunter2"})
    assert settings.part(EstimatorSettings).api_token == "hunter2"
    assert settings.shown()["api_token"] == "***"
    assert Settings.resolve({}, {}).shown()["api_token"] is None
    for shown in (repr(settings), str(settings.shown()), repr(settings.part(EstimatorSettings))):
        assert "hunter2" not in shown
    assert not any(option.name == "api_token" for option in estimate.command.params)
    with pytest.raises(ConfigurationError, match="visible ASCII characters, got something else"):
        Settings.resolve({}, {"HEARSAY_API_TOKEN": "hunter 2"})


def test_a_new_setting_reaches_its_role_by_its_row_and_field(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command has the flag, and the role gets the value under the name that it asks for."""
    row = config.Setting("patience_s", "3", "How long to wait.", float, roles=(roles.COLLECTOR,))
    monkeypatch.setattr(config, "TABLE", (*config.TABLE, row))
    monkeypatch.setattr(options, "TABLE", config.TABLE)
    monkeypatch.setitem(config.BY_NAME, row.name, row)

    @dataclass(frozen=True)
    class Extended(Settings):
        patience_s: float

    @dataclass(frozen=True)
    class OfTheRole:
        prefix: str
        patience_s: float

    monkeypatch.setattr(options, "Settings", Extended)
    got: list[OfTheRole] = []

    @click.command()
    @options.uses_of(roles.COLLECTOR)
    def collect(settings: Settings) -> None:
        got.append(settings.part(OfTheRole))

    CliRunner().invoke(
        collect, ["--patience-s", "7", "--prefix", "test"], catch_exceptions=False, **cli.context_settings
    )
    CliRunner().invoke(collect, [], env={"HEARSAY_PATIENCE_S": "5"}, catch_exceptions=False, **cli.context_settings)
    assert got == [OfTheRole("test", 7.0), OfTheRole("hs", 5.0)]
    assert not any(option.name == "patience_s" for option in estimate.command.params)


@pytest.mark.parametrize("kind", [CollectorSettings, WorkerSettings, EstimatorSettings], ids=lambda kind: kind.__name__)
def test_roles_name_settings_that_there_are(kind: type) -> None:
    types = {entry.name: entry.type for entry in fields(Settings)} | {"snapshots_dir": Path}  # of the data directory
    for entry in fields(kind):
        assert types[entry.name] == entry.type, entry.name


def test_a_variable_that_no_setting_has_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEARSAY_REDIS_ULR", "redis://secret:secret@elsewhere")
    assert run(["plan", "nothing.toml", "--query", "top 3"]) == 2
    first, *_ = capsys.readouterr().err.splitlines()
    assert first.startswith("hearsay: HEARSAY_REDIS_ULR is no setting and is not read; the nearest: HEARSAY_REDIS_URL")
    assert "secret" not in first


def test_variables_of_settings_are_known() -> None:
    assert unknown_variables({setting.environment: "x" for setting in TABLE} | {"HOME": "y"}) == []
