"""What a worker process holds for its jobs: the data server, the registry, its own settings."""

import os
import socket
from dataclasses import dataclass

from hearsay.collector.limits import HEARTBEAT_TTL_S
from hearsay.collector.plugins import load_plugins
from hearsay.collector.store.connect import Client, connect
from hearsay.collector.store.keys import PREFIX, QUEUE, heartbeat, timings
from hearsay.collector.store.registry import Registry


@dataclass(frozen=True)
class WorkerSettings:
    """How workers are told what to do: passed from process to process as environment variables."""

    redis_url: str
    queue_url: str
    prefix: str = PREFIX
    queue: str = QUEUE
    keep_payloads: bool = False
    plugins: str | None = None

    def environment(self) -> dict[str, str]:
        return {
            "HEARSAY_REDIS_URL": self.redis_url,
            "HEARSAY_QUEUE_URL": self.queue_url,
            "HEARSAY_PREFIX": self.prefix,
            "HEARSAY_QUEUE": self.queue,
            "HEARSAY_DEAD_LETTER_PAYLOAD": "yes" if self.keep_payloads else "no",
            "HEARSAY_PLUGINS": self.plugins or "",
        }

    @classmethod
    def from_environment(cls) -> "WorkerSettings":
        environment = os.environ
        return cls(
            environment["HEARSAY_REDIS_URL"],
            environment.get("HEARSAY_QUEUE_URL") or environment["HEARSAY_REDIS_URL"],
            environment.get("HEARSAY_PREFIX") or PREFIX,
            environment.get("HEARSAY_QUEUE") or QUEUE,
            environment.get("HEARSAY_DEAD_LETTER_PAYLOAD", "no") == "yes",
            environment.get("HEARSAY_PLUGINS", ""),
        )


class Context:
    """One per worker process."""

    def __init__(self, client: Client, prefix: str, keep_payloads: bool = False) -> None:
        self.client, self.prefix, self.keep_payloads = client, prefix, keep_payloads
        self.registry = Registry(client, prefix)
        self.identity = f"{socket.gethostname()}-{os.getpid()}"

    def observe_fold(self, duration_s: float) -> None:
        """Add to the fold timings that the estimator exports, and show that this worker is alive."""
        pipeline = self.client.pipeline(transaction=False)
        pipeline.hincrbyfloat(timings(self.prefix), "fold_seconds", duration_s)
        pipeline.hincrby(timings(self.prefix), "folds", 1)
        pipeline.set(heartbeat(self.prefix, "worker", self.identity), "1", ex=HEARTBEAT_TTL_S)
        pipeline.execute()


_current: Context | None = None


def set_current(context: Context) -> None:
    """Called once when a worker process starts."""
    global _current
    _current = context


def current() -> Context:
    """The process's context; made from the environment where no worker set it up."""
    global _current
    if _current is None:
        settings = WorkerSettings.from_environment()
        load_plugins(settings.plugins)
        _current = Context(connect(settings.redis_url), settings.prefix, settings.keep_payloads)
    return _current
