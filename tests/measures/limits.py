"""Whether a load test names what is slow: `python -m tests.measures.limits`.

In turns the producers make every report anew, at a rate that nobody can make; the server is stopped for nine tenths of
the time; the workers are stopped nearly all the time. Each time the load test must name that part as the limit.
"""

import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hearsay.collector.survey.survey import parse
from hearsay.ops.server.processes import Pipeline
from tests.chaos.processes import children
from tests.measures.ramp import SURVEY, produce


@contextmanager
def slowed(pids: Callable[[], list[int]], stopped_s: float, running_s: float) -> Iterator[None]:
    """Processes that run for some time, are stopped for some, and so on."""
    end = threading.Event()

    def send(what: int) -> None:
        for pid in pids():
            with suppress(ProcessLookupError):
                os.kill(pid, what)

    def slow() -> None:
        while not end.is_set():
            send(signal.SIGSTOP)
            time.sleep(stopped_s)
            send(signal.SIGCONT)
            time.sleep(running_s)

    thread = threading.Thread(target=slow)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def main() -> int:
    """1 where another part is named."""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, Pipeline(Path(folder), estimator=True, workers=2) as pipeline:
        pipeline.registry().add(parse(SURVEY))
        server, supervisor = pipeline.server.pid or 0, pipeline.pid("work")
        cases = (
            ("producers", slowed(list, 1.0, 1.0), ("--devices=2e7", "--rate=1e8"), False),
            ("server", slowed(lambda: [server], 0.09, 0.01), ("--devices=4e7", "--rate=4e7"), True),
            ("workers", slowed(lambda: children(supervisor), 3.0, 0.02), ("--devices=2e7", "--rate=2e6"), True),
        )
        for part, slow, words, replay in cases:
            with slow:
                told = produce(pipeline, *words, "--processes=1", replay=replay)
            print(f"{part} slowed: limit {told['limit']}: {told['why']}; held: {told['held']}", flush=True)
            wrong |= told["limit"] != part
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
