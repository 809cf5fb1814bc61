"""The faults of a storm, and the pipeline with two of every process that they happen to."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import redis

from hearsay.collector.errors import CollectorError
from hearsay.collector.store.registry import Registered
from hearsay.ops.server.embedded import HOST, EmbeddedServer, free_port
from tests.chaos.losses.explained import Happened
from tests.chaos.losses.journal import FOLDER
from tests.chaos.processes import LEASE_S, Pipeline, children
from tests.clock import Clock, turn_scripts

FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
LOST_TAIL_S = 0.5
DAY_S = 86_400
Fault = Callable[[], str | None]  # answers what happened; None: nothing did
ENDS_WITHIN_S = 15.0  # a supervisor gives its workers four seconds; the machine is busy


def address_of(server: EmbeddedServer) -> str:
    """As a journal has it."""
    return f"{HOST}:{server.port}"


def is_worker(pid: int) -> bool:
    """Whether this process is one of our workers still, and no other that got its number."""
    with suppress(OSError):
        return b"hearsay.workers.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


class ProcessFaults(Pipeline):
    """The pipeline with two of everything, and what may happen to its processes."""

    rounds: Registered  # a survey with rounds, whose ends are worth waiting for
    durable = "disk"  # what gateways ask for: what a server loses together with others nobody can send again
    longest_s = 5.0  # from the end of a storm until its last fault is over: so long producers must live to send again

    def __init__(self, server: EmbeddedServer, directory: Path, choice: random.Random) -> None:
        super().__init__(server, directory)
        self.plugins = "tests.identity,tests.chaos.turns,tests.chaos.losses.journal"
        self.choice, self.faults = choice, Counter[str]()
        self.ports, self.senders = [free_port(), free_port()], dict[str, tuple[str, ...]]()
        self.orphans, self.stubborn, self.taken_back = set[int](), list[str](), 0
        self.happened, self.struck = list[Happened](), set[str]()  # struck: servers, by what is happening now
        self.forgets = False  # whether they may come back without their last moment
        self._kinds, self._weights = zip(*self.often(), strict=True)
        self._first = self.choice.sample(self._kinds, len(self._kinds))  # each at least once

    def often(self) -> list[tuple[Fault, int]]:
        """Every fault, with how often it happens beside the others."""
        return [
            (self.kill_process, 14), (self.freeze, 2), (self.flush_queue, 2), (self.kill_between_rounds, 1),
            (self.kill_supervisor, 1), (self.terminate, 3), (self.kill_sender, 2),
        ]  # fmt: skip

    @property
    def journal(self) -> Path:
        """Where processes write down what they published."""
        folder = self.directory / "journal"
        folder.mkdir(exist_ok=True)
        return folder

    def environment(self) -> dict[str, str]:
        return {**super().environment(), FOLDER: str(self.journal)}

    def start_all(self) -> None:
        self.services = {
            "collector": ("collect",),
            "collector-2": ("collect",),
            "workers": ("work", "--workers", "1"),
            "workers-2": ("work", "--workers", "1"),
            "estimator": ("estimate", "--port", str(free_port())),
            "estimator-2": ("estimate", "--port", str(free_port())),
            "gateway": ("gateway", "--port", str(self.ports[0]), "--hold-s", "0.05", "--durable", self.durable),
            "gateway-2": ("gateway", "--port", str(self.ports[1]), "--hold-s", "0", "--durable", self.durable),
        }
        for role, words in self.services.items():
            self.start(role, *words)

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", *words[1:]] if words[0] == "python" else super().command(*words)

    def start_senders(self, survey: str, senders: int, reports: int, seconds: float) -> None:
        """Processes that send so many reports through the gateways, in about so many seconds."""
        each = reports // senders
        for number in range(senders):
            outbox, pace = str(self.directory / f"outbox-{number}"), f"{seconds / each:.9f}"
            words = (survey, outbox, str(number * each), str((number + 1) * each), pace, *map(str, self.ports))
            self.senders[f"sender-{number}"] = ("python", "tests.chaos.sender", *words)
        for name, command in self.senders.items():
            self.start(name, *command)

    def kill_sender(self) -> str | None:
        name = self.choice.choice(sorted(self.senders))
        if self.processes[name].poll() is not None:
            return None  # it has sent everything
        self.processes[name].kill()
        self.processes[name].wait()
        self.start(name, *self.senders[name])
        return "kill -9 of a sender"

    def failures(self, names: Iterable[str], seconds: float) -> list[str]:
        """Of processes that end by themselves: what those that failed said last."""
        deadline, said = time.monotonic() + seconds, list[str]()
        for name in names:
            if self.processes.pop(name).wait(timeout=max(deadline - time.monotonic(), 1)):
                last = (self.directory / f"{name}.log").read_text(errors="replace").splitlines()[-3:]
                said.append(f"{name} failed: {' / '.join(last)}")
        return said

    def strike(self) -> None:
        """One fault."""
        fault = self._first.pop() if self._first else self.choice.choices(self._kinds, self._weights)[0]
        began, name, self.struck, self.forgets = time.time(), None, set(), False
        with suppress(redis.exceptions.RedisError, CollectorError):  # it met a server that another fault had hit
            if (name := fault()) is not None:
                self.faults[name] += 1
        happened = Happened(name or fault.__name__, began, time.time(), frozenset(self.struck), self.forgets)
        self.happened.append(happened)

    def take_back(self) -> None:
        """What an operator does with ranges that were put aside: nothing is wrong with them, only with the rest."""
        for name in ("buckets", "road", self.rounds.survey.name):
            for shard in self.registered(name).shards:
                for found in shard.ranges():
                    if found.quarantined and shard.reissue(found, LEASE_S, retry=True)[0] == "reissued":
                        self.taken_back += 1

    def kill_process(self) -> str | None:
        role = self.choice.choice(list(self.services))
        if role.startswith("workers"):
            workers = children(self.processes[role].pid)
            if not workers:
                return None  # it is being replaced just now
            with suppress(ProcessLookupError):
                os.kill(self.choice.choice(workers), signal.SIGKILL)
            return "kill -9 of a worker"
        self._kill(role)
        kind = role.partition("-")[0]
        return f"kill -9 of {'an' if kind == 'estimator' else 'a'} {kind}"

    def _kill(self, *roles: str) -> None:
        for role in roles:
            self.processes[role].kill()
        for role in roles:
            self.processes[role].wait()
            self.start(role, *self.services[role])

    def kill_supervisor(self) -> str | None:
        """Its workers must end by themselves: nobody else would ever stop them."""
        role = self.choice.choice(["workers", "workers-2"])
        self.orphans |= set(children(self.processes[role].pid))
        self._kill(role)
        return "kill -9 of a supervisor of workers"

    def terminate(self) -> str | None:
        """SIGTERM in whatever phase it is, also while it starts; it must end, and soon."""
        role = self.choice.choice(list(self.services))
        self.processes[role].terminate()
        try:
            self.processes[role].wait(timeout=ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.stubborn.append(role)
        self._kill(role)
        return "SIGTERM of a process"

    def left_behind(self) -> list[int]:
        """Workers that outlived their supervisors."""
        deadline = time.monotonic() + ENDS_WITHIN_S
        while (left := [pid for pid in self.orphans if is_worker(pid)]) and time.monotonic() < deadline:
            time.sleep(0.1)
        return left

    def kill_between_rounds(self) -> str | None:
        """Both estimators, after one of them closed a round and before either opens the next."""
        deadline = time.monotonic() + 6.0
        while self.rounds.look().rounds.open:
            if time.monotonic() > deadline:
                return None
            time.sleep(0.005)
        for role in ("estimator", "estimator-2"):
            self.processes[role].kill()
        between = not self.rounds.look().rounds.open
        self._kill("estimator", "estimator-2")
        return "kill -9 of both estimators between two rounds" if between else "kill -9 of both estimators"

    def freeze(self) -> str | None:
        """Longer than the lease: others take over, and then it wakes up."""
        role = self.choice.choice(list(self.services))
        victims = children(self.processes[role].pid) if role.startswith("workers") else [self.processes[role].pid]
        for signalled, pause_s in ((signal.SIGSTOP, LEASE_S + 1.0), (signal.SIGCONT, 0.0)):
            for pid in victims:
                with suppress(ProcessLookupError):
                    os.kill(pid, signalled)
            time.sleep(pause_s)
        return "a process frozen for longer than the lease"

    def flush_queue(self) -> str | None:
        with redis.Redis.from_url(self.server.url) as client:
            if keys := client.keys("rq:queue:*") + client.keys("rq:job:*"):
                client.delete(*keys)
        return "the queue flushed"


class Storm(ProcessFaults):
    """All of it on one server, to which things happen too."""

    def __init__(self, server: EmbeddedServer, directory: Path, choice: random.Random) -> None:
        super().__init__(server, directory, choice)
        self.offset = directory / "clock"
        self.offset.write_text("+0\n")
        if not FAKETIME.exists():
            turn_scripts()  # this process asks the same clock as the others
            self.plugins += ",tests.chaos.injected"

    def often(self) -> list[tuple[Fault, int]]:
        return [
            *super().often(), (self.kill_server, 3), (self.lose_tail, 2), (self.turn_clock, 2), (self.fill_memory, 1),
            (self.restart_server, 1),
        ]  # fmt: skip

    def start_server(self) -> None:
        """With a clock that can be turned, where there is one."""
        faked = {"LD_PRELOAD": str(FAKETIME), "FAKETIME_TIMESTAMP_FILE": str(self.offset), "FAKETIME_NO_CACHE": "1",
                 "FAKETIME_DONT_FAKE_MONOTONIC": "1"}  # fmt: skip
        if FAKETIME.exists():
            os.environ.update(faked)
        try:
            self.server.start()
        finally:
            for name in faked:
                os.environ.pop(name, None)

    def strike(self) -> None:
        super().strike()
        self.happened[-1] = self.happened[-1]._replace(nodes=frozenset({address_of(self.server)}))

    def restart_server(self) -> str | None:
        self.server.stop()
        self.start_server()
        return "the server restarted in good order"

    def kill_server(self) -> str | None:
        self.server.kill()
        time.sleep(self.choice.random() * 0.3)
        self.start_server()
        return "kill -9 of the server"

    def lose_tail(self) -> str | None:
        """The log as it was half a second ago: what a power cut leaves of one that is flushed every second.

        In between nothing is flushed: what the server has said is on disk stays there.
        """
        self.forgets = True
        with redis.Redis.from_url(self.server.url) as client:
            client.config_set("appendfsync", "no")
        logs = {log: log.stat().st_size for log in self.server.aof_directory.glob("*.incr.aof")}
        time.sleep(LOST_TAIL_S)
        self.server.kill()
        for log, size in logs.items():
            if log.exists():
                os.truncate(log, min(size, log.stat().st_size))
        self.start_server()
        return "kill -9 of the server, which loses its last half second"

    def turn_clock(self) -> str | None:
        """By hours or weeks, forward or back, for a second or for good."""
        seconds = self.choice.choice([-30 * 3600, -DAY_S, -3600, 3600, 40 * DAY_S])
        with redis.Redis.from_url(self.server.url) as client:
            for offset in (seconds, 0) if self.choice.random() < 0.5 else (seconds,):
                if FAKETIME.exists():
                    self.offset.write_text(f"{offset:+d}\n")
                else:
                    Clock(client).set(offset)
                time.sleep(1.0)
        return "the server's clock jumps"

    def fill_memory(self) -> str | None:
        with redis.Redis.from_url(self.server.url) as client:
            client.config_set("maxmemory", int(client.info("memory")["used_memory"]) - 1)
            time.sleep(1.5)
            client.config_set("maxmemory", 0)
        return "memory full"
