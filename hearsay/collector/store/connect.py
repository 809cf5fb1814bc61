"""Connections to the Redis servers, which are checked for what counting exactly once requires."""

import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, cast

import redis
from redis.sentinel import MasterNotFoundError, Sentinel

from hearsay.collector.errors import LoginRefused, NoQueueThere, ServerError, StillLoading, WrongURL
from hearsay.collector.store.client import Client
from hearsay.collector.store.node import Node
from hearsay.collector.store.servers.cluster import Cluster
from hearsay.collector.store.servers.plain import PLAIN, timeouts
from hearsay.collector.store.servers.servers import One, Servers
from hearsay.collector.store.servers.urls import Seed, Target, parse_url
from hearsay.errors import Fields

MINIMUM_VERSION = (6, 2)
_NO_CLUSTER: Fields = {
    "what": "queue-url",
    "must": "name a server that is not in cluster mode",
    "ending": ": RQ does not run on a cluster, a small one will do",
}
SENTINEL_S = 1.0  # time limit for the reply of a Sentinel; then the next one is asked
_URL: Fields = {
    "what": "Redis URL",
    "expected": "like redis://[user:password@]host:port[/number], or unix://path, with parameters that redis-py knows; "
    "for a cluster redis://host:port,host:port/0, for Sentinel redis+sentinel://host:port,host:port/NAME/0",
}


class _Purpose(NamedTuple):
    """What a server is for, and where it is named."""

    server: str
    setting: str
    where: str


_DATA = _Purpose("Redis server", "redis-url", "in HEARSAY_REDIS_URL")
_QUEUE = _Purpose("the queue's Redis server", "queue-url", "in HEARSAY_QUEUE_URL")


def address(url: str) -> str:
    """Hosts and ports of a URL, without its password."""
    return parse_url(url).address


def open_servers(url: str) -> Servers:
    """The servers of a URL: one, a cluster of which the URL names some nodes, or the one that Sentinels name."""
    target = _target(url)
    with _explained(target):
        if target.sentinel is not None:
            client = _through_sentinel(target)
            check_server(client)
            _refuse_while_loading(client.info(), target)
            return One(Node(client, address=target.address))
        if len(target.seeds) > 1:
            return _cluster(target)
        client = _client(url)
        information = client.info()
        if int(information.get("cluster_enabled", 0)):
            client.close()
            return _cluster(target)
        check(information)
        _refuse_while_loading(information, target)
        return One(Node(client))


def connect_queue(url: str) -> redis.Redis:
    """A client for RQ, of redis-py's own class. RQ uses keys of many slots together, so no cluster will do."""
    target = _target(url)
    with _explained(target, _QUEUE):
        if len(target.seeds) > 1 and target.sentinel is None:
            raise NoQueueThere(**_NO_CLUSTER)
        client = _client(url) if target.sentinel is None else _through_sentinel(target)
        information = client.info()
        if int(information.get("cluster_enabled", 0)):
            raise NoQueueThere(**_NO_CLUSTER)
        _refuse_while_loading(information, target)
    return cast(redis.Redis, client)


def connect(url: str, timeout_s: float | None = None, check: bool = True) -> Client:
    """A client of one server that never repeats a command by itself: a lost reply must not become a second append."""
    with _explained(_target(url)):
        client = _client(url, timeout_s)
        if check:
            check_server(client)
    return client


def _target(url: str) -> Target:
    try:
        return parse_url(url)
    except ValueError:  # its message may contain a password
        raise WrongURL(**_URL) from None


def _client(url: str, timeout_s: float | None = None) -> Client:
    return cast(Client, redis.Redis.from_url(url, **PLAIN, **timeouts(timeout_s)))


def _through_sentinel(target: Target) -> Client:
    """A client of the server that the Sentinels name; each new connection asks them."""
    first, *others = target.seeds
    parameters = redis.ConnectionPool.from_url(target.url_of(first)).connection_kwargs
    settings = {name: value for name, value in parameters.items() if name not in ("host", "port")}
    to_sentinels = {**PLAIN, **timeouts(SENTINEL_S)}
    pool: Any = Sentinel([], sentinel_kwargs={})  # type: ignore[no-untyped-call]
    pool.sentinels = [redis.Redis.from_url(target.url_of_sentinel(seed), **to_sentinels) for seed in (first, *others)]
    return cast(Client, pool.master_for(target.sentinel or "", ssl=target.tls, **{**settings, **PLAIN, **timeouts()}))


def _cluster(target: Target) -> Cluster:
    """The cluster, after a check that all nodes of the URL are part of it and that each that answers can be used."""
    cluster = Cluster(target.seeds, lambda seed, timeout_s: _client(target.url_of(seed), timeout_s))
    members, addresses, _ = _members(cluster.teller.do("CLUSTER", "NODES"))
    for seed in target.seeds:
        client = _client(target.url_of(seed), SENTINEL_S)
        try:
            if not int(client.info("cluster").get("cluster_enabled", 0)):
                raise ServerError(f"redis-url names {seed}, which is not in cluster mode, among the nodes of a cluster")
            if _members(client.execute_command("CLUSTER", "NODES"))[2] not in members:
                raise ServerError(f"redis-url names nodes of two clusters: {seed} is not of that of {target.seeds[0]}")
        except redis.exceptions.AuthenticationError:
            raise LoginRefused(f"redis-url names {seed}, which {_why_refused(target)}") from None
        except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
            if not _resolved(seed) & addresses:
                raise ServerError(
                    f"redis-url names {seed}, where nobody answers and no node of the cluster is"
                ) from None
        finally:
            client.close()
    for node in cluster.nodes():
        with suppress(redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):  # not checked
            check(node.do("INFO"))
    return cluster


def _members(reply: Any) -> tuple[set[str], set[Seed], str]:
    """The ids and addresses of all nodes of a cluster, also of those that are down, and the id of the replying node."""
    text = reply.decode() if isinstance(reply, bytes) else str(reply)
    rows = [row.split() for row in text.splitlines()]
    addresses = [row[1].partition("@")[0].rpartition(":") for row in rows]
    (own,) = (row[0] for row in rows if "myself" in row[2].split(","))
    return {row[0] for row in rows}, {Seed(host, int(port)) for host, _, port in addresses}, own


def _resolved(seed: Seed) -> set[Seed]:
    """A seed with each of the addresses of its host."""
    try:
        addresses = socket.getaddrinfo(seed.host, seed.port, type=socket.SOCK_STREAM)
    except OSError:
        return set()
    return {seed, *(Seed(str(address[0]), seed.port) for *_, address in addresses)}


@contextmanager
def _explained(target: Target, purpose: _Purpose = _DATA) -> Iterator[None]:
    """Turn every error of a connection into one line that says why the server cannot be used."""
    what, name = purpose.setting, f"{purpose.server} at {target.address}"
    try:
        yield
    except (ValueError, TypeError):  # its message may contain a password; TypeError: an unknown parameter
        raise WrongURL(**_URL) from None
    except redis.exceptions.AuthenticationError:
        words = f"{name} {_why_refused(target, purpose)}"
        raise LoginRefused(words, what=what, expected="a user and password that the server takes") from None
    except MasterNotFoundError as error:
        raise ServerError(f"Sentinels at {target.address}: {_why_no_master(error)}") from None
    except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError) as error:
        words = f"{name} {_why_unreachable(target.url, error, purpose)}"
        raise ServerError(words, what=what, expected="a server that answers", got=target.address) from None
    except redis.exceptions.InvalidResponse:
        words = f"{name} does not speak Redis's protocol; is this an HTTP port?"
        raise ServerError(words, what=what, expected="the port of a Redis server", got=target.address) from None
    except redis.exceptions.RedisError as error:  # no Redis at all, a database it lacks, a user without INFO
        raise ServerError(f"{name} cannot be used: {error}") from None


def _why_no_master(error: Exception) -> str:
    return "none of them answers, or none knows a server of this name that runs"


def _why_refused(target: Target, purpose: _Purpose = _DATA) -> str:
    if not target.has_password:
        return f"asks for a password: name it {purpose.where}, or for an embedded server its --data-dir"
    return f"refused the user name or password: name the right ones {purpose.where}"


def _why_unreachable(url: str, error: Exception, purpose: _Purpose) -> str:
    """Why a server cannot be reached, as far as the error shows it."""
    reasons = [str(each) for each in (error, error.__cause__, error.__context__) if each is not None]
    text = " ".join(reasons)
    certificate = re.search(r"certificate verify failed: ([^(\[]+)", text, re.IGNORECASE)
    if certificate:
        reason = certificate[1].strip().rstrip(".,")
        return f"has a certificate that cannot be trusted: {reason}{_how_to_trust(reason)}"
    if (
        url.startswith("rediss:")
        and not isinstance(error.__cause__, ConnectionRefusedError)
        and re.search(
            r"ssl|tls|wrong.version|reset by peer|closed by server|unexpected.eof|timed? ?out", text, re.IGNORECASE
        )
    ):
        return "does not answer in TLS; is it a plain port? Then the URL starts with redis://"
    if url.startswith("redis:") and re.search(r"closed by server|reset by peer", text, re.IGNORECASE):
        return "closes the connection; does it ask for TLS? Then the URL starts with rediss://"
    return (
        "cannot be reached; start it (all services of a checkout: make run; the embedded server alone: hearsay redis) "
        f"or name another {purpose.where}"
    )


def _how_to_trust(reason: str) -> str:
    """What to do about a certificate, where the URL or the environment can do something."""
    if re.search(r"self.signed|issuer", reason):
        return "; name its authority's file in SSL_CERT_FILE, or in the URL as ?ssl_ca_certs=FILE"
    return "; the URL must name the server as its certificate does" if "mismatch" in reason else ""


def check_server(client: Client) -> None:
    """Refuse a server that is too old, evicts keys when memory is short, or is part of a cluster."""
    information = client.info()
    if int(information.get("cluster_enabled", 0)):
        raise ServerError("this server is in cluster mode")
    check(information)


def check(information: Mapping[str, Any]) -> None:
    """Refuse a server that is too old, or evicts keys when memory is short."""
    version = str(information.get("redis_version", "0.0"))
    if tuple(int(part) for part in version.split(".")[:2]) < MINIMUM_VERSION:
        raise ServerError(what="Redis server", expected="at least 6.2", got=version)
    policy = str(information.get("maxmemory_policy", "noeviction"))
    if policy != "noeviction":
        raise ServerError(what="Redis server", must="run with maxmemory-policy noeviction", got=policy)


def _refuse_while_loading(information: Mapping[str, Any], target: Target) -> None:
    if int(information.get("loading", 0)):
        raise StillLoading(f"Redis server at {target.address} still loads its files; it answers when it has read them")
