"""The processes of a load test. `python -m hearsay.ops.load.process` is one: it reads its task as a line of JSON, says
that it is ready, starts at the moment that the next line names, and writes what it sent."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hearsay.collector.store.durability import MEMORY
from hearsay.collector.store.registry import Registered
from hearsay.mechanisms.exact.randomness import secure, seeded
from hearsay.ops.config import Settings
from hearsay.ops.errors import OperationError
from hearsay.ops.load.latencies import Done
from hearsay.ops.load.sender import Reports, Sender, Sent
from hearsay.ops.load.verdict import LATE_S
from hearsay.ops.server.connection import open_registry
from hearsay.ops.terminal.stopping import stopping
from hearsay.ops.terminal.values_file import ValuesFile
from hearsay.producer.fleet import People
from hearsay.producer.populations import Population
from hearsay.producer.values import Rows


@dataclass(frozen=True)
class Task:
    """What is to be published, and how. `number` of `processes`: each takes its part of reports, rate and rows."""

    survey: str
    distribution: str
    values: str | None
    column: str | None
    clamp: bool
    skip_bad: bool
    seed: int | None
    frame: int | None  # None: every report is an entry of its own
    replay: bool
    rate: float | None
    total: int
    durable: str = MEMORY
    first: int = 0  # row of the file
    late_s: float = LATE_S  # how late the last report may be acknowledged
    number: int = 0
    processes: int = 1

    def part(self, number: int, processes: int) -> "Task":
        """The part of one of several processes."""
        share = self.total // processes + (number < self.total % processes)
        rate = None if self.rate is None else self.rate * share / self.total
        own = {"number": number, "processes": processes, "rate": rate, "total": share}
        return Task(**{**asdict(self), **own})

    def reports(self, registered: Registered) -> Reports:
        """The source of this process's reports."""
        seed = None if self.seed is None else self.seed + self.number
        domain = registered.survey.mechanism.domain
        people: People = Population(self.distribution, domain, np.random.default_rng(seed))
        if self.values is not None:
            rows = ValuesFile(Path(self.values), self.column, self.clamp, self.skip_bad).read(domain)
            people = Rows(rows[self.number % len(rows) :: self.processes], self.first)
        random = secure() if seed is None else seeded(seed)
        return Reports(registered, people, random, frame=self.frame, rate=self.rate, replay=self.replay)

    def sender(self, registered: Registered) -> Sender:
        return Sender(registered, self.reports(registered), self.rate, self.total, self.durable)


class Processes:
    """Several processes that send side by side."""

    def __init__(self, settings: Settings, tasks: Sequence[Task]) -> None:
        given = {name: str(value) for name, value in asdict(settings.with_password()).items() if name in _PASSED}
        self._running = []
        for task in tasks:
            command = [sys.executable, "-m", "hearsay.ops.load.process"]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self._write(process, {"settings": given, "task": asdict(task)})
            self._running.append(process)
        for process in self._running:
            self._read(process)  # ready

    def run(self, started: float, stop: threading.Event, progress: Callable[[int], None]) -> list[Sent]:
        """Start them all at one moment, and wait for what they sent."""
        sent: list[Sent] = []
        for process in self._running:
            self._write(process, {"started": started})

        def collect(process: "subprocess.Popen[str]") -> None:
            while True:
                message = self._read(process)
                if "progress" in message:
                    progress(message["progress"])
                    continue
                batches = [Done(*batch) for batch in message.pop("batches")]
                sent.append(Sent(batches, **message))
                return

        threads = [threading.Thread(target=_quietly(collect), args=(process,)) for process in self._running]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            if stop.wait(0.1):
                for process in self._running:
                    process.terminate()
                break
        for thread in threads:
            thread.join()
        for process in self._running:
            process.communicate()  # closes the pipes, and waits
        if len(sent) < len(self._running):
            raise OperationError(f"{len(self._running) - len(sent)} of {len(self._running)} producing processes failed")
        return sent

    @staticmethod
    def _write(process: "subprocess.Popen[str]", table: dict[str, Any]) -> None:
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(table) + "\n")
            process.stdin.flush()

    @staticmethod
    def _read(process: "subprocess.Popen[str]") -> dict[str, Any]:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise OperationError("a producing process ended before it sent anything; its error is above")
        table: dict[str, Any] = json.loads(line)
        return table


_PASSED = ("redis_url", "redis_port", "data_dir", "prefix", "plugins")


def _quietly(collect: Callable[["subprocess.Popen[str]"], None]) -> Callable[["subprocess.Popen[str]"], None]:
    """Without a traceback for a process that failed: its own error is on stderr."""

    def collected(process: "subprocess.Popen[str]") -> None:
        with suppress(OperationError):
            collect(process)

    return collected


def _tell(table: dict[str, Any]) -> None:
    print(json.dumps(table), flush=True)


def _main() -> None:
    given = json.loads(sys.stdin.readline())
    registered = open_registry(Settings.resolve(given["settings"], {})).get(given["task"]["survey"])
    sender = Task(**given["task"]).sender(registered)
    _tell({"ready": True})
    with stopping() as stop:
        started = json.loads(sys.stdin.readline())["started"]
        _tell(asdict(sender.run(started, stop, lambda count: _tell({"progress": count}))))


if __name__ == "__main__":
    try:
        with suppress(KeyboardInterrupt):
            _main()
    except BrokenPipeError:  # the process that started it was killed; nobody hears of more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
