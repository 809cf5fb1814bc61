"""A supervisor of two workers as a process, told what to do by a line on its standard input."""

import signal
import sys
import threading

from hearsay.workers.context import WorkerSettings
from hearsay.workers.supervisor import supervise

if __name__ == "__main__":
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    supervise(WorkerSettings.parse(sys.stdin.buffer.readline()), 2, stop)
