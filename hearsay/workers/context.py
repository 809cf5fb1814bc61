"""What a worker process holds for its jobs: the registry, its heartbeat, and its settings."""

import json
from dataclasses import asdict, dataclass, field
from typing import Self

from hearsay.collector.agreement import Agreement
from hearsay.collector.heartbeats import Heartbeat
from hearsay.collector.roles import WORKER
from hearsay.collector.store.client import Client
from hearsay.collector.store.keys import PREFIX, QUEUE
from hearsay.collector.store.looks.survey_look import AWAY
from hearsay.collector.store.registry import Registry
from hearsay.collector.store.servers.servers import Servers


@dataclass(frozen=True)
class WorkerSettings:
    """What a worker takes of the settings, by their names.

    It gets them as one line of JSON on its standard input, where no other process sees a password.
    """

    redis_url: str = field(repr=False)
    queue_url: str = field(repr=False)
    prefix: str = PREFIX
    queue: str = QUEUE
    dead_letter_payload: bool = False
    plugins: str = ""

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def parse(cls, line: bytes) -> Self:
        return cls(**json.loads(line))


class Context:
    """One per worker process. `keep_payloads` is the setting `dead_letter_payload`, `queue` is where jobs come from."""

    def __init__(self, servers: Servers | Client, prefix: str, keep_payloads: bool = False, queue: str = "") -> None:
        self.keep_payloads = keep_payloads
        self.registry = Registry(servers, prefix)
        self.heartbeat = Heartbeat(self.registry, WORKER.name, queue=queue)
        self.agreement = Agreement(self.registry)

    def observe_fold(self, duration_s: float, times: int = 1) -> None:
        """Add to the fold timings that the estimator exports; of several folds their time together."""
        try:
            self.registry.timings.observe("fold", "folds", duration_s, times)
        except AWAY:
            if self.registry.servers.alone:
                raise  # else one of several nodes: what was folded is committed elsewhere


_current: Context | None = None


def set_current(context: Context) -> None:
    """Called once when a worker process starts."""
    global _current
    _current = context


def current() -> Context:
    """The process's context."""
    if _current is None:
        raise RuntimeError("a fold job runs only inside a worker")
    return _current
