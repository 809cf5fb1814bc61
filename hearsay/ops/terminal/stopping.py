"""How a long-running command stops: cleanly on SIGTERM (exit code 0) and on an interrupt (130)."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Stop(threading.Event):
    """Set by the first SIGTERM or interrupt. A second one ends the process at once."""

    def __init__(self) -> None:
        super().__init__()
        self.interrupted = False

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.is_set():
            raise KeyboardInterrupt
        self.interrupted = number == signal.SIGINT
        self.set()


@contextmanager
def stopping() -> Iterator[Stop]:
    """Handle the signals inside the block; an interrupt becomes KeyboardInterrupt once the service has stopped."""
    stop = Stop()
    before = {number: signal.signal(number, stop._on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if stop.interrupted:
        raise KeyboardInterrupt
