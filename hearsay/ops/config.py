"""Every setting in one table: a flag wins over the environment (`HEARSAY_*`), which wins over the default.

`docs/reference/configuration.md` is written from this table. Secrets (a password inside a URL) are never shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import unquote_plus, urlsplit

from hearsay.collector.roles import COLLECTOR, ESTIMATOR, ROLES, SERVER, WORKER
from hearsay.errors import nearest
from hearsay.ops.errors import ConfigurationError
from hearsay.ops.gateway_settings import GATEWAY_TABLE
from hearsay.ops.server.password import read_password, with_password
from hearsay.ops.setting import (
    ENVIRONMENT_PREFIX,
    Setting,
    flag,
    integer,
    is_prefix,
    is_token,
    memory,
    port,
    redis_url,
    seconds,
    text,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Part = TypeVar("Part", bound="DataclassInstance")

LOG_LEVELS = ("debug", "info", "warning", "error")
_SERVICES = tuple(role for role in ROLES if role.beats)  # what connects to the server and reads surveys

TABLE = (
    Setting(
        "redis_url",
        "",
        "The Redis or Valkey server that holds streams and accumulators: one, nodes of a cluster (host:port,host:port) "
        "or redis+sentinel:// with a name; wins over the embedded server.",
        redis_url,
        roles=_SERVICES,
        otherwise="the embedded server on redis-port",
        secret=True,
    ),
    Setting(
        "queue_url",
        "",
        "The server for RQ's queue, if it is another one: RQ does not run on a cluster.",
        redis_url,
        roles=(COLLECTOR, WORKER),
        otherwise="the same as redis-url",
        secret=True,
    ),
    Setting("redis_port", "6399", "The port of the embedded server.", port, roles=ROLES),
    Setting(
        "redis_maxmemory",
        "0",
        "The embedded server's memory limit, such as 2gb; producers pause well below it. 0: no limit.",
        memory,
        roles=(SERVER,),
    ),
    Setting(
        "prefix",
        "hs",
        "The prefix of every Redis key, so that deployments can share a server.",
        partial(text, "1 to 32 letters, digits, - or _", is_prefix),
        roles=_SERVICES,
    ),
    Setting(
        "queue",
        "hearsay",
        "The name of the RQ queue that fold jobs go through; the prefix is added to it.",
        partial(text, "1 to 32 letters, digits, - or _", is_prefix),
        roles=(COLLECTOR, WORKER),
    ),
    Setting(
        "data_dir",
        "var",
        "The directory for snapshots, notes on files that were sent, the embedded server's files and its password.",
        Path,
        roles=ROLES,
    ),
    Setting(
        "workers",
        "2",
        "How many worker processes `hearsay work` keeps running.",
        partial(integer, 1, 256),
        roles=(WORKER,),
    ),
    Setting(
        "lease_s",
        "20",
        "How long a dispatched range of stream entries may stay unfolded before the collector enqueues it again.",
        partial(seconds, 0.5, 3600),
        roles=(COLLECTOR,),
    ),
    Setting(
        "hold_layouts",
        "no",
        "Write only what the previous release reads while this collector runs, so that you can go back to it.",
        flag,
        roles=(COLLECTOR,),
    ),
    Setting(
        "plugins",
        "",
        "Modules with the tables of further families, separated by commas.",
        str,
        roles=_SERVICES,
        otherwise="none",
    ),
    Setting(
        "period_s",
        "1",
        "How often the estimator materialises estimates and writes snapshots.",
        partial(seconds, 0.05, 86400),
        roles=(ESTIMATOR,),
    ),
    Setting(
        "host", "127.0.0.1", "The address that the estimator's API and metrics listen on.", str, roles=(ESTIMATOR,)
    ),
    Setting("port", "8787", "The port that the estimator's API and metrics listen on.", port, roles=(ESTIMATOR,)),
    *GATEWAY_TABLE,
    Setting(
        "public_host",
        "",
        "Further names by which browsers reach the page, separated by commas; requests for other names are refused.",
        str,
        otherwise="none: addresses, localhost and the machine's name",
        roles=(ESTIMATOR,),
    ),
    Setting(
        "api_token",
        "",
        "The token that the estimator's API, metrics and page ask for; needed to listen beyond this machine.",
        partial(text, "1 to 256 visible ASCII characters", is_token),
        otherwise="none",
        secret=True,
    ),
    Setting(
        "key",
        "",
        "The key that `hearsay produce --via` sends to a gateway that asks for one.",
        partial(text, "1 to 256 visible ASCII characters", is_token),
        otherwise="none",
        secret=True,
        option="--key",
    ),
    Setting(
        "dead_letter_payload",
        "no",
        "Keep the payload of rejected entries in dead letters. A broken device may have sent its raw value.",
        flag,
        roles=(WORKER,),
    ),
    Setting(
        "log_level",
        "info",
        "How much is logged (JSON lines on stderr).",
        partial(text, f"one of {', '.join(LOG_LEVELS)}", lambda text: text in LOG_LEVELS),
        roles=ROLES,
    ),
)
BY_NAME = {setting.name: setting for setting in TABLE}


@dataclass(frozen=True)
class Settings:
    """All settings, resolved. Its representation shows no secret."""

    redis_url: str = field(repr=False)
    queue_url: str = field(repr=False)
    redis_port: int
    redis_maxmemory: str
    prefix: str
    queue: str
    data_dir: Path
    workers: int
    lease_s: float
    hold_layouts: bool
    plugins: str
    period_s: float
    host: str
    port: int
    gateway_host: str
    gateway_port: int
    gateway_processes: int
    gateway_hold_s: float
    durable: str
    gateway_keys: bool | None
    gateway_origins: str | None
    gateway_address_rate: float
    gateway_key_rate: float
    gateway_certificate: Path | None
    gateway_private_key: Path | None
    public_host: str
    api_token: str | None = field(repr=False)
    key: str | None = field(repr=False)
    dead_letter_payload: bool
    log_level: str
    # Whether the user named a server of their own (--redis-url); then the embedded one is not started.
    own_server: bool

    @classmethod
    def resolve(cls, flags: Mapping[str, Any], environment: Mapping[str, str]) -> Self:
        """Flag (None: not given), then environment, then default."""
        values = {setting.name: _value(setting, flags.get(setting.name), environment) for setting in TABLE}
        own_server = values["redis_url"] is not None
        if not own_server:
            values["redis_url"] = f"redis://127.0.0.1:{values['redis_port']}/0"
        if values["queue_url"] is None:
            values["queue_url"] = values["redis_url"]
        values["plugins"] = values["plugins"] or ""
        values["public_host"] = values["public_host"] or ""
        return cls(**values, own_server=own_server)

    def with_password(self) -> Self:
        """The same with the embedded server's password in the URLs, if the file with the password exists already."""
        if self.own_server:
            return self
        url = with_password(self.redis_url, read_password(self.server_dir))
        return replace(self, redis_url=url, queue_url=url if self.queue_url == self.redis_url else self.queue_url)

    def part(self, kind: type[Part]) -> Part:
        """The settings of one role: every field of `kind` gets the value of the setting with the same name."""
        return kind(**{entry.name: getattr(self, entry.name) for entry in fields(kind)})

    @property
    def snapshots_dir(self) -> Path:
        return self.data_dir / "snapshots"

    @property
    def server_dir(self) -> Path:
        """Where the embedded server keeps its files."""
        return self.data_dir / "redis"

    def shown(self) -> dict[str, Any]:
        """Every setting as it may be printed or logged."""
        shown: dict[str, Any] = {}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.name in BY_NAME and BY_NAME[entry.name].secret:
                value = without_password(value) if BY_NAME[entry.name].parse is redis_url else value and "***"
            shown[entry.name] = str(value) if isinstance(value, Path) else value
        return shown

    def chosen(self) -> dict[str, Any]:
        """The server and what differs from the defaults, as it may be logged."""
        usual = Settings.resolve({}, {}).shown()
        return {name: value for name, value in self.shown().items() if name == "redis_url" or value != usual[name]}


def environment(**settings: object) -> dict[str, str]:
    """These settings as the variables that a child process reads them from."""
    return {BY_NAME[name].environment: str(value) for name, value in settings.items()}


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """One line for each `HEARSAY_` variable that no setting has: nothing reads it, and it may be misspelt."""
    known = [setting.environment for setting in TABLE]
    lines = []
    for name in sorted(environment):
        if name.startswith(ENVIRONMENT_PREFIX) and name not in known:
            near = nearest(name, known, cutoff=0.8)
            lines.append(
                f"{name} is no setting and is not read" + (f"; the nearest: {', '.join(near)}" if near else "")
            )
    return lines


def _value(setting: Setting, given: Any, environment: Mapping[str, str]) -> Any:
    for source, value in ((setting.flag, given), (setting.environment, environment.get(setting.environment) or None)):
        if value is None:
            continue
        try:
            return setting.parse(str(value))
        except ValueError as allowed:
            got = "something else" if setting.secret else repr(str(value))
            raise ConfigurationError(what=source, expected=str(allowed), got=got) from None
    return setting.parse(setting.default) if setting.default else None


def without_password(url: str) -> str:
    """A URL as it may be shown."""
    parts = urlsplit(url)
    user = f"{parts.username or ''}:***@" if parts.password is not None else ""
    user = user or (f"{parts.username}@" if parts.username else "")
    host = parts.netloc.rpartition("@")[2]
    query = "&".join(map(_shown_parameter, parts.query.split("&")))
    return f"{parts.scheme}://{user}{host}{parts.path}" + (f"?{query}" if query else "")


def _shown_parameter(pair: str) -> str:
    """One parameter of a URL; its name may be written in other letters, which the client reads as the same."""
    name = unquote_plus(pair.partition("=")[0])
    return f"{name}=***" if "password" in name.lower() else pair
