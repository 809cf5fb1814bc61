"""A connection to the Redis server, checked for what the exactly-once rule needs."""

import re
from typing import cast
from urllib.parse import urlsplit

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from hearsay.collector.errors import ServerError
from hearsay.collector.limits import REPLY_S
from hearsay.collector.store.client import Client

MINIMUM_VERSION = (6, 2)


def address(url: str) -> str:
    """Host and port of a URL, without its password."""
    parts = urlsplit(url)
    return f"{parts.hostname or parts.path}:{parts.port}" if parts.port else str(parts.hostname or parts.path)


def connect_queue(url: str) -> redis.Redis:
    """A client for RQ, which asks for redis-py's own class."""
    return cast(redis.Redis, connect(url, check=False))


def connect(url: str, timeout_s: float = 5.0, check: bool = True) -> Client:
    """A client that never repeats a command by itself: a lost reply must not become a second append."""
    try:
        client = cast(
            Client,
            redis.Redis.from_url(
                url,
                retry=Retry(NoBackoff(), 0),
                socket_connect_timeout=timeout_s,
                socket_timeout=REPLY_S,
                health_check_interval=0,
            ),
        )
        if check:
            check_server(client)
    except (ValueError, TypeError):  # its text may quote a password; TypeError: a parameter that there is not
        raise ServerError(
            "Redis URL must be like redis://[user:password@]host:port[/number], or unix://path, with parameters that "
            "redis-py knows"
        ) from None
    except redis.exceptions.AuthenticationError:
        raise ServerError(f"Redis server at {address(url)} {_why_refused(url)}") from None
    except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError) as error:
        raise ServerError(f"Redis server at {address(url)} {_why_unreachable(url, error)}") from None
    except redis.exceptions.RedisError as error:  # no Redis at all, a database it lacks, a user without INFO
        raise ServerError(f"Redis server at {address(url)} cannot be used: {error}") from None
    return client


def _why_refused(url: str) -> str:
    if urlsplit(url).password is None:
        return "asks for a password: name it in HEARSAY_REDIS_URL, or for an embedded server its --data-dir"
    return "refused the user name or password"


def _why_unreachable(url: str, error: Exception) -> str:
    """What stands in the way, where more is known than that nobody answers."""
    reasons = [str(each) for each in (error, error.__cause__, error.__context__) if each is not None]
    text = " ".join(reasons)
    certificate = re.search(r"certificate verify failed: ([^(\[]+)", text, re.IGNORECASE)
    if certificate:
        return f"has a certificate that cannot be trusted: {certificate[1].strip().rstrip('.,')}"
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
    return "cannot be reached; start one with: hearsay redis"


def check_server(client: Client) -> None:
    """Refuse a server that is too old, evicts keys when memory is short, or is part of a cluster."""
    information = client.info()
    version = str(information.get("redis_version", "0.0"))
    if tuple(int(part) for part in version.split(".")[:2]) < MINIMUM_VERSION:
        raise ServerError(f"Redis server must be at least 6.2, got {version}")
    if int(information.get("cluster_enabled", 0)):
        raise ServerError("Redis Cluster is not supported yet: name one server that is not in cluster mode")
    policy = str(information.get("maxmemory_policy", "noeviction"))
    if policy != "noeviction":
        raise ServerError(f"Redis server must run with maxmemory-policy noeviction, got {policy}")
