"""Every setting in one table: a flag wins over the environment (`HEARSAY_*`), which wins over the default.

`docs/configuration.md` is written from this table. Secrets (a password inside a URL) are never shown.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlsplit

from hearsay.collector.roles import COLLECTOR, ESTIMATOR, ROLES, SERVER, WORKER, Role
from hearsay.ops.errors import ConfigurationError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Part = TypeVar("Part", bound="DataclassInstance")

ENVIRONMENT_PREFIX = "HEARSAY_"
LOG_LEVELS = ("debug", "info", "warning", "error")
URL_SCHEMES = ("redis", "rediss", "unix")


def _text(allowed: str, accept: Callable[[str], bool], text: str) -> str:
    if not accept(text):
        raise ValueError(allowed)
    return text


def _integer(low: int, high: int, text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or not low <= int(text) <= high:
        raise ValueError(f"an integer in {low}..{high}")
    return int(text)


def _seconds(low: float, high: float, text: str) -> float:
    allowed = f"a number of seconds in {low:g}..{high:g}"
    try:
        number = float(text)
    except ValueError:
        raise ValueError(allowed) from None
    if not isfinite(number) or not low <= number <= high:
        raise ValueError(allowed)
    return number


def _flag(text: str) -> bool:
    if text.lower() not in ("1", "0", "true", "false", "yes", "no"):
        raise ValueError("yes or no")
    return text.lower() in ("1", "true", "yes")


def _is_redis_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        _ = parts.port  # urlsplit checks the port only when asked for it
    except ValueError:
        return False
    return parts.scheme in URL_SCHEMES and bool(parts.hostname or parts.path)


def _is_prefix(text: str) -> bool:
    return 0 < len(text) <= 32 and all(letter.isascii() and (letter.isalnum() or letter in "-_") for letter in text)


_SERVICES = tuple(role for role in ROLES if role.beats)  # what connects to the server and reads surveys
_port = partial(_integer, 1, 65535)
_redis_url = partial(_text, f"a URL that starts with {', '.join(f'{s}://' for s in URL_SCHEMES)}", _is_redis_url)


@dataclass(frozen=True)
class Setting:
    """One row of the table. The default is written as a person would type it; empty means `otherwise`.

    The commands of `roles` have it as a flag. A role gets what its own settings class names (`Settings.part`).
    """

    name: str
    default: str
    help: str
    parse: Callable[[str], Any]
    roles: tuple[Role, ...] = ()
    otherwise: str = ""
    secret: bool = False

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def environment(self) -> str:
        return ENVIRONMENT_PREFIX + self.name.upper()


TABLE = (
    Setting(
        "redis_url",
        "",
        "The Redis or Valkey server that holds streams and accumulators; wins over the embedded server.",
        _redis_url,
        roles=_SERVICES,
        otherwise="the embedded server on redis-port",
        secret=True,
    ),
    Setting(
        "queue_url",
        "",
        "The server for RQ's queue, where it is another one (RQ does not run on Redis Cluster).",
        _redis_url,
        roles=(COLLECTOR, WORKER),
        otherwise="the same as redis-url",
        secret=True,
    ),
    Setting("redis_port", "6399", "The port of the embedded server.", _port, roles=ROLES),
    Setting(
        "redis_maxmemory",
        "0",
        "The embedded server's memory limit, such as 2gb; producers pause well below it. 0: no limit.",
        partial(_text, "a size such as 512mb or 2gb", lambda text: text[:1].isdecimal() and text.isalnum()),
        roles=(SERVER,),
    ),
    Setting(
        "prefix",
        "hs",
        "What every Redis key starts with, so that deployments can share a server.",
        partial(_text, "1 to 32 letters, digits, - or _", _is_prefix),
        roles=_SERVICES,
    ),
    Setting(
        "queue",
        "hearsay",
        "The name of the RQ queue that fold jobs go through; the prefix is added to it.",
        partial(_text, "1 to 32 letters, digits, - or _", _is_prefix),
        roles=(COLLECTOR, WORKER),
    ),
    Setting(
        "data_dir",
        "var",
        "The directory for snapshots and the embedded server's files.",
        Path,
        roles=(SERVER, ESTIMATOR),
    ),
    Setting(
        "workers",
        "2",
        "How many worker processes `hearsay work` keeps running.",
        partial(_integer, 1, 256),
        roles=(WORKER,),
    ),
    Setting(
        "lease_s",
        "20",
        "How long a range may be out with a worker before the collector enqueues it again.",
        partial(_seconds, 0.5, 3600),
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
        partial(_seconds, 0.05, 86400),
        roles=(ESTIMATOR,),
    ),
    Setting(
        "host", "127.0.0.1", "The address that the estimator's API and metrics listen on.", str, roles=(ESTIMATOR,)
    ),
    Setting("port", "8787", "The port that the estimator's API and metrics listen on.", _port, roles=(ESTIMATOR,)),
    Setting(
        "dead_letter_payload",
        "no",
        "Keep the payload of rejected entries in dead letters. A broken device may have sent its raw value.",
        _flag,
        roles=(WORKER,),
    ),
    Setting(
        "log_level",
        "info",
        "How much is logged (JSON lines on stderr).",
        partial(_text, f"one of {', '.join(LOG_LEVELS)}", lambda text: text in LOG_LEVELS),
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
    plugins: str
    period_s: float
    host: str
    port: int
    dead_letter_payload: bool
    log_level: str
    # Whether a server was named; then the embedded one is not started.
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
        return cls(**values, own_server=own_server)

    def part(self, kind: type[Part]) -> Part:
        """A role's own settings, each taken from the setting of its name."""
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
                value = without_password(value)
            shown[entry.name] = str(value) if isinstance(value, Path) else value
        return shown


def environment(**settings: object) -> dict[str, str]:
    """These settings as the variables that a child process reads them from."""
    return {BY_NAME[name].environment: str(value) for name, value in settings.items()}


def _value(setting: Setting, flag: Any, environment: Mapping[str, str]) -> Any:
    for source, text in ((setting.flag, flag), (setting.environment, environment.get(setting.environment) or None)):
        if text is None:
            continue
        try:
            return setting.parse(str(text))
        except ValueError as allowed:
            got = "something else" if setting.secret else repr(str(text))
            raise ConfigurationError(f"{source} must be {allowed}, got {got}") from None
    return setting.parse(setting.default) if setting.default else None


def without_password(url: str) -> str:
    """A URL as it may be shown."""
    parts = urlsplit(url)
    if parts.password is None and "password=" not in parts.query:
        return url
    user = f"{parts.username or ''}:***@" if parts.password is not None else ""
    host = parts.netloc.rpartition("@")[2]
    query = "&".join("password=***" if pair.startswith("password=") else pair for pair in parts.query.split("&"))
    return f"{parts.scheme}://{user}{host}{parts.path}" + (f"?{query}" if query else "")
