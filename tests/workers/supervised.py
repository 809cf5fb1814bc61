"""A supervisor of two workers as a process, configured by the environment."""

import signal
import threading

from hearsay.workers.context import WorkerSettings
from hearsay.workers.supervisor import supervise

if __name__ == "__main__":
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    supervise(WorkerSettings.from_environment(), 2, stop)
