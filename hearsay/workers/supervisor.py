"""Keeps worker processes running: when one exits, for whatever reason, another is started.

A worker in a job exits when the server goes away, and a poisonous range may take its worker with it; neither may stop
the others.
"""

import logging
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field

from hearsay.workers.context import WorkerSettings

_LOG = logging.getLogger("hearsay.supervisor")
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0
STEADY_S = 10.0  # a worker that lived so long is forgiven its earlier exits
STOP_S = 4.0  # honcho kills what is left five seconds after SIGTERM


@dataclass
class _Slot:
    """One worker, and when to start the next one."""

    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    pause_s: float = FIRST_PAUSE_S
    not_before: float = 0.0
    exits: int = field(default=0)


def supervise(settings: WorkerSettings, count: int, stop: threading.Event) -> int:
    """Keep `count` workers running until `stop`; answers how often one had to be replaced."""
    slots = [_Slot() for _ in range(count)]
    try:
        while not stop.is_set():
            for slot in slots:
                _tend(slot, settings)
            stop.wait(0.1)
    finally:
        _stop(slots)
    return sum(slot.exits for slot in slots)


def _tend(slot: _Slot, settings: WorkerSettings) -> None:
    now = time.monotonic()
    if slot.process is not None:
        code = slot.process.poll()
        if code is None:
            return
        _LOG.warning("worker %d exited with %d; starting another", slot.process.pid, code)
        slot.exits += 1
        slot.pause_s = FIRST_PAUSE_S if now - slot.started > STEADY_S else min(2 * slot.pause_s, LONGEST_PAUSE_S)
        _hang_up(slot.process)
        slot.process, slot.not_before = None, now + slot.pause_s
    if now >= slot.not_before:
        slot.process = start_worker(settings)
        slot.started = now


def start_worker(settings: WorkerSettings) -> subprocess.Popen[bytes]:
    """A worker at the other end of a line that breaks when this process ends, however it does."""
    # -P: without it `python -m` looks for every module in the current folder first, whoever may write there.
    process = subprocess.Popen([sys.executable, "-P", "-m", "hearsay.workers.worker"], stdin=subprocess.PIPE)
    assert process.stdin is not None
    try:
        process.stdin.write(settings.line())
        process.stdin.flush()
    except BrokenPipeError:
        _LOG.warning("worker %d ended before it read its settings", process.pid)
    return process


def _stop(slots: list[_Slot]) -> None:
    running = [slot.process for slot in slots if slot.process is not None]
    for process in running:
        process.terminate()
    deadline = time.monotonic() + STOP_S
    for process in running:
        try:
            process.wait(timeout=max(deadline - time.monotonic(), 0.01))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        _hang_up(process)


def _hang_up(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        with suppress(BrokenPipeError):  # what was never read
            process.stdin.close()
