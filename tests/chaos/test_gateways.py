"""From device to state through two gateways: every report has a bucket of its own, and everything is killed meanwhile.

A bucket with 2 is a double count, one with 0 the loss of a report that was acknowledged: senders go on until every
request is answered with 202.
"""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from hearsay.collector.heartbeats import roles
from hearsay.collector.store.connect import connect
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.ops.server.embedded import EmbeddedServer
from tests.chaos.faults import Storm
from tests.chaos.processes import children
from tests.identity import make_known, survey_table

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds worker processes in /proc")
SENDERS = 2
REPAIRED_S = 4.0  # a gateway looks every second, and waits for the server to be back


class Road(Storm):
    """Server, collector, workers and two gateways, with processes that send to both."""

    def __init__(self, server: EmbeddedServer, directory: Path, choice: random.Random) -> None:
        super().__init__(server, directory, choice)
        self.services = {
            "collector": ("collect",),
            "workers": ("work",),
            "gateway-0": ("gateway", "--port", str(self.ports[0]), "--hold-s", "0.05"),
            "gateway-1": ("gateway", "--port", str(self.ports[1]), "--hold-s", "0", "--durable", "disk"),
        }

    def wait_for_gateways(self) -> None:
        self.store("buckets")
        assert self.registry is not None
        deadline = time.monotonic() + 60
        while roles(self.registry)["gateway"] < 2:
            assert time.monotonic() < deadline, "the gateways did not start"
            time.sleep(0.05)

    def kill_gateway(self) -> str:
        self._kill(self.choice.choice(["gateway-0", "gateway-1"]))
        return "kill -9 of a gateway"

    def end_gateway(self) -> str:
        role = self.choice.choice(["gateway-0", "gateway-1"])
        self.processes[role].terminate()
        assert self.processes[role].wait(timeout=15) in (0, -signal.SIGTERM)  # the latter while it starts
        self.start(role, *self.services[role])
        return "SIGTERM of a gateway"

    def kill_worker(self) -> str | None:
        for pid in children(self.processes["workers"].pid)[:1]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                return "kill -9 of a worker"
        return None

    def lose_tail_while_gateways_live(self) -> str | None:
        """What a server loses when a gateway dies too, and is not durable, nobody can send again."""
        outcome = self.lose_tail()
        time.sleep(REPAIRED_S)
        return outcome

    def suffer(self, faults: list[str]) -> None:
        """These faults, by the names of the methods, in random order; then the clock is right again."""
        for fault in self.choice.sample(faults, len(faults)):
            action: Callable[[], str | None] = getattr(self, fault)
            happened = action()
            if happened is not None:
                self.faults[happened] += 1
            time.sleep(0.2 + 0.6 * self.choice.random())
        self.offset.write_text("+0\n")

    def assert_all_counted_once(self) -> None:
        """Once every sender has ended well and all is folded."""
        assert self.failures(self.senders, 300) == []
        self.wait_until_drained("buckets", 60)
        hist = self.state("buckets")["hist"]
        print(dict(self.faults))
        assert (hist == 1).all(), f"lost {np.flatnonzero(hist == 0)[:9]}, doubled {np.flatnonzero(hist > 1)[:9]}"

    def sent(self) -> tuple[int, int]:
        """How many frames were published, and how many requests are remembered."""
        store = self.store("buckets")
        hours = [hour for hour in store.node.client.hkeys(store.keys.hours) if hour != b"floor"]
        requests = sum(len(store.node.client.hkeys(store.keys.ids(hour.decode()))) for hour in hours)
        return store.status().published_entries, requests


@contextmanager
def road_of(directory: Path, monkeypatch: pytest.MonkeyPatch, reports: int, seed: int) -> Iterator[Road]:
    """A road with a bucket for each report, until the end of the block."""
    print(f"seed {seed}")
    make_known(monkeypatch)
    server = EmbeddedServer(directory / "valkey")
    road = Road(server, directory, random.Random(seed))
    road.start_server()
    try:
        Registry(connect(server.url)).add(parse(survey_table("identity", reports)))
        for role, words in road.services.items():
            road.start(role, *words)
        road.wait_for_gateways()
        yield road
    finally:
        road.stop()
        server.stop()


def run_under_fire(
    directory: Path, monkeypatch: pytest.MonkeyPatch, reports: int, seconds: float, faults: list[str], seed: int
) -> Counter[str]:
    """Send so many reports in about so many seconds, under these faults in random order; answers what happened."""
    with road_of(directory, monkeypatch, reports, seed) as road:
        road.start_senders("buckets", SENDERS, reports, seconds)
        road.wait_for_writers("buckets", 2)
        road.suffer(faults)
        road.assert_all_counted_once()
        frames, requests = road.sent()
    print(f"{frames} frames of {requests} requests")
    return road.faults


def test_every_report_counts_once_through_gateways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faults = ["kill_gateway", "kill_sender", "kill_server", "kill_worker", "end_gateway", "kill_gateway"]
    happened = run_under_fire(tmp_path, monkeypatch, reports=20_000, seconds=6.0, faults=faults, seed=1)
    assert happened["kill -9 of a gateway"] == 2


@pytest.mark.slow
def test_every_report_counts_once_through_gateways_under_long_fire(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = [
        *["kill_gateway"] * 6,
        *["kill_sender"] * 5,
        *["kill_worker"] * 5,
        *["kill_server"] * 4,
        *["lose_tail_while_gateways_live"] * 2,
        *["turn_clock"] * 4,
        *["end_gateway"] * 3,
    ]
    happened = run_under_fire(tmp_path, monkeypatch, 200_000, 60.0, faults, seed=int(time.time()))
    assert sum(count for name, count in happened.items() if name.startswith("kill -9")) >= 20
