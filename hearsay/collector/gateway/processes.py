"""Several gateway processes on one listening socket: whatever makes one exit, another takes its place."""

import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable

from hearsay.collector.gateway.service import Options, run
from hearsay.collector.store.registry import Registry

_LOG = logging.getLogger("hearsay.gateway")
_FORK = multiprocessing.get_context("fork")  # so that all listen on one socket
PAUSE_S = 0.2  # before a process that exited is replaced
STOP_S = 4.5


def supervise(
    connect: Callable[[], Registry], options: Options, listening: socket.socket, count: int, stop: threading.Event
) -> None:
    """Keep `count` processes running until `stop`. Each has connections of its own, made by `connect`."""
    pipe = os.pipe()  # it breaks when this process ends, however it does
    children = [_start(connect, options, listening, pipe) for _ in range(count)]
    try:
        while not stop.wait(PAUSE_S):
            for number, child in enumerate(children):
                if not child.is_alive():
                    _LOG.warning("gateway process %s exited with %s; starting another", child.pid, child.exitcode)
                    children[number] = _start(connect, options, listening, pipe)
    finally:
        for child in children:
            child.terminate()
        deadline = time.monotonic() + STOP_S
        for child in children:
            child.join(max(deadline - time.monotonic(), 0.01))
            if child.is_alive():
                child.kill()


def _start(
    connect: Callable[[], Registry], options: Options, listening: socket.socket, pipe: tuple[int, int]
) -> multiprocessing.process.BaseProcess:
    child = _FORK.Process(target=_child, args=(connect, options, listening, pipe), daemon=True)
    child.start()
    return child


def _child(connect: Callable[[], Registry], options: Options, listening: socket.socket, pipe: tuple[int, int]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    reading, writing = pipe
    os.close(writing)
    run(connect(), options, listening, reading)
