"""Settings of every client: it repeats no command by itself, since a lost reply must not cause a second append."""

from typing import Any

from redis.backoff import NoBackoff
from redis.retry import Retry

from hearsay.collector.limits import CONNECT_S, REPLY_S

PLAIN: dict[str, Any] = {"retry": Retry(NoBackoff(), 0), "health_check_interval": 0}


def timeouts(seconds: float | None = None) -> dict[str, Any]:
    """Time limits for connecting and for replies; `seconds` sets both."""
    return {
        "socket_connect_timeout": CONNECT_S if seconds is None else seconds,
        "socket_timeout": REPLY_S if seconds is None else seconds,
    }
