"""A connection to the Redis server, checked for what the exactly-once rule needs."""

from typing import Any, TypeAlias
from urllib.parse import urlsplit

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from hearsay.collector.errors import ServerError

Client: TypeAlias = Any  # a redis.Redis; its own types cannot say that every reply is bytes
MINIMUM_VERSION = (6, 2)


def address(url: str) -> str:
    """Host and port of a URL, without its password."""
    parts = urlsplit(url)
    return f"{parts.hostname or parts.path}:{parts.port}" if parts.port else str(parts.hostname or parts.path)


def connect(url: str, timeout_s: float = 5.0, check: bool = True) -> Client:
    """A client that never repeats a command by itself: a lost reply must not become a second append."""
    try:
        client = redis.Redis.from_url(
            url, retry=Retry(NoBackoff(), 0), socket_connect_timeout=timeout_s, health_check_interval=0
        )
        if check:
            check_server(client)
    except ValueError:  # its text may quote a password
        raise ServerError("Redis URL must be like redis://[user:password@]host:port[/number], or unix://path") from None
    except redis.exceptions.AuthenticationError:
        raise ServerError(f"Redis server at {address(url)} refused the user name or password") from None
    except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
        raise ServerError(f"Redis server at {address(url)} cannot be reached; start one with: hearsay redis") from None
    except redis.exceptions.RedisError as error:  # no Redis at all, a database it lacks, a user without INFO
        raise ServerError(f"Redis server at {address(url)} cannot be used: {error}") from None
    return client


def check_server(client: Client) -> None:
    """Refuse a server that is too old or that evicts keys when memory is short."""
    information = client.info()
    version = str(information.get("redis_version", "0.0"))
    if tuple(int(part) for part in version.split(".")[:2]) < MINIMUM_VERSION:
        raise ServerError(f"Redis server must be at least 6.2, got {version}")
    policy = str(information.get("maxmemory_policy", "noeviction"))
    if policy != "noeviction":
        raise ServerError(f"Redis server must run with maxmemory-policy noeviction, got {policy}")
