"""URLs of servers: of one server, of nodes of a cluster, or of Sentinels with the name of the monitored server.

redis://host:port/0   redis://host:port,host:port/0   redis+sentinel://host:port,host:port/NAME/0   rediss alike,
unix://
"""

from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

SCHEMES = ("redis", "rediss", "redis+sentinel", "rediss+sentinel", "unix")
DEFAULT_PORT, SENTINEL_PORT = 6379, 26379
_OF_SENTINELS = "sentinel_"  # parameters that begin with this are for the Sentinels, all others for the server


class Seed(NamedTuple):
    """Host and port of a server."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True)
class Target:
    """A parsed URL. `sentinel` is the name that Sentinels have for the server; None: `seeds` are the servers."""

    url: str = field(repr=False)
    seeds: tuple[Seed, ...]  # empty for a socket in the file system
    sentinel: str | None = None

    @property
    def address(self) -> str:
        """Hosts and ports, without the password."""
        if not self.seeds:
            return urlsplit(self.url).path
        where = ",".join(map(str, self.seeds))
        return where if self.sentinel is None else f"{where}/{self.sentinel}"

    @property
    def tls(self) -> bool:
        return self.url.startswith("rediss")

    @property
    def has_password(self) -> bool:
        return urlsplit(self.url).password is not None

    def url_of(self, seed: Seed) -> str:
        """The URL of one of the seeds, with the same user, password, database and parameters."""
        parts = urlsplit(self.url)
        database = parts.path if self.sentinel is None else parts.path.removeprefix(f"/{self.sentinel}")
        query = urlencode([pair for pair in parse_qsl(parts.query) if not pair[0].startswith(_OF_SENTINELS)])
        scheme = parts.scheme.partition("+")[0]
        return urlunsplit((scheme, f"{_user(parts)}{seed}", database, query, ""))

    def url_of_sentinel(self, seed: Seed) -> str:
        """The URL of a Sentinel, with the user name and password that the URL's parameters give for it."""
        parts = urlsplit(self.url)
        given = {name.removeprefix(_OF_SENTINELS): value for name, value in parse_qsl(parts.query)
                 if name.startswith(_OF_SENTINELS)}  # fmt: skip
        return urlunsplit((parts.scheme.partition("+")[0], str(seed), "", urlencode(given), ""))


def parse_url(url: str) -> Target:
    """The parsed URL; raises a ValueError, which contains no part of the URL, if it is invalid."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise ValueError("scheme")
    # An @ after the host: a password has a /, ? or # that is not written as %2F, %3F or %23, so its end is unknown.
    if "@" in parts.query + parts.fragment + ("" if parts.scheme == "unix" else parts.path):
        raise ValueError("password")
    if parts.scheme == "unix":
        if not parts.path:
            raise ValueError("path")
        return Target(url, ())
    through_sentinel = parts.scheme.endswith("+sentinel")
    hosts = parts.netloc.rpartition("@")[2].split(",")
    default = SENTINEL_PORT if through_sentinel else DEFAULT_PORT
    seeds = tuple(_seed(host, default) for host in hosts)
    if not through_sentinel:
        return Target(url, seeds)
    name = parts.path.removeprefix("/").partition("/")[0]
    if not name:
        raise ValueError("name")
    return Target(url, seeds, name)


def _seed(text: str, default_port: int) -> Seed:
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError("host")
    return Seed(parts.hostname, default_port if parts.port is None else parts.port)


def _user(parts: SplitResult) -> str:
    user, at, _ = parts.netloc.rpartition("@")
    return user + at
