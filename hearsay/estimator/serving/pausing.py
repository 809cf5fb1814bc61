"""A process that is paused while the estimator makes a pass (Linux; elsewhere nothing is paused).

A core that is busy beside a pass slows it, whatever the priority of what keeps it busy: both share caches, often a
physical core. So the process stops when a pass begins and goes on when it ends, or earlier where passes are long or
frequent: it is paused for at most as long as it ran and 0.1 s more. So planning takes at most about twice as long.
"""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

AT_ONCE_S = 0.1  # of pauses before the process has run for long: a pass of 65,536 cells takes a fifth of it


class Pauses:
    """Passes on one side, the process on the other; each in a thread of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._passing = False
        self._process: _Running | None = None

    @contextmanager
    def during_pass(self) -> Iterator[None]:
        """The process is paused in this block."""
        self._turn(passing=True)
        try:
            yield
        finally:
            self._turn(passing=False)

    @contextmanager
    def of(self, pid: int) -> Iterator[None]:
        """A process of this one runs in this block. It must end by itself where this one is killed (`plan_worker`)."""
        descriptor: int | None = None
        with suppress(OSError, AttributeError):  # another system, an old one, no descriptors left: nothing is paused
            descriptor = os.pidfd_open(pid)
        if descriptor is None:
            yield
            return
        running = _Running(descriptor, self._lock)
        with self._lock:
            self._process = running
            if self._passing:
                running.pause()
        try:
            yield
        finally:
            with self._lock:
                self._process = None
                running.resume()
            os.close(descriptor)

    def _turn(self, *, passing: bool) -> None:
        with self._lock:
            self._passing = passing
            if self._process is None:
                return
            if passing:
                self._process.pause()
            else:
                self._process.resume()


class _Running:
    """The process by its descriptor: its number may be another's once it has ended. Called under the lock."""

    def __init__(self, descriptor: int, lock: threading.Lock) -> None:
        self._descriptor, self._lock = descriptor, lock
        self._began_at = time.monotonic()
        self._paused_s = 0.0
        self._paused_at: float | None = None
        self._timer: threading.Timer | None = None

    def pause(self) -> None:
        now = time.monotonic()
        ran_s = now - self._began_at - self._paused_s
        allowed_s = ran_s + AT_ONCE_S - self._paused_s
        if allowed_s <= 0:
            return
        self._paused_at = now
        self._timer = threading.Timer(allowed_s, self._resume_in_time, [now])
        self._timer.daemon = True
        self._timer.start()
        self._send(signal.SIGSTOP)

    def resume(self) -> None:
        if self._paused_at is None or self._timer is None:
            return
        self._send(signal.SIGCONT)
        self._timer.cancel()
        self._paused_s += time.monotonic() - self._paused_at
        self._paused_at = self._timer = None

    def _resume_in_time(self, paused_at: float) -> None:
        with self._lock:
            if self._paused_at == paused_at:  # else that pause is over already
                self.resume()

    def _send(self, number: signal.Signals) -> None:
        with suppress(OSError):  # it has ended
            signal.pidfd_send_signal(self._descriptor, number)
