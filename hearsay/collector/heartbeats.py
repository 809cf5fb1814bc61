"""Signs of life: every service shows itself now and then, and takes its mark away when it ends in good order."""

import os
import socket
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from hearsay.collector.limits import HEARTBEAT_TTL_S
from hearsay.collector.roles import NEEDED
from hearsay.collector.store.processes.versions import this_process
from hearsay.collector.store.registry import Registry

BEAT_S = HEARTBEAT_TTL_S / 3  # so that two may get lost


def _this_process() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


@dataclass(frozen=True)
class Heartbeat:
    """One process of a role: collector, worker or estimator."""

    registry: Registry
    role: str
    process: str = field(default_factory=_this_process)
    started: float = field(default_factory=time.monotonic)
    hold_layouts: bool = False  # the setting
    queue: str = ""  # of jobs, where it puts or takes some
    durable: str = ""  # what a gateway promises

    def beat(self) -> None:
        info = this_process(time.monotonic() - self.started, self.hold_layouts)
        info = info._replace(queue=self.queue, durable=self.durable)
        self.registry.heartbeats.mark(self.role, self.process, HEARTBEAT_TTL_S, info)

    def stop(self) -> None:
        """The process ends in good order."""
        self.registry.heartbeats.unmark(self.role, self.process)


class Alive(NamedTuple):
    """A process that was seen lately."""

    role: str
    process: str
    age_s: float
    version: str


def alive(registry: Registry) -> list[Alive]:
    """Every process that was seen lately, and how long ago."""
    return [
        Alive(mark.role, mark.process, max(HEARTBEAT_TTL_S - mark.left_ms / 1_000, 0.0), mark.info.version)
        for mark in registry.heartbeats.marks_of_all(role.name for role in NEEDED)
    ]


def has_ended(process: Alive) -> bool:
    """Whether a process of this machine is gone, though its mark is still there: killed, it could not take it away."""
    host, _, number = process.process.rpartition("-")
    if host != socket.gethostname() or not number.isdecimal():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except OSError:  # somebody else's
        return False
    return False


def roles(registry: Registry) -> Counter[str]:
    """How many processes of each role were seen lately."""
    return Counter(mark.role for mark in registry.heartbeats.marks())
