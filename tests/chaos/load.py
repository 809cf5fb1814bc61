"""What a storm is about: three surveys in which every value is reported once, and the processes that report.

One survey without rounds, one whose reports come through two gateways, and one with many short rounds. 0 reports of a
value are a loss, 2 a double count.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import redis

from hearsay.collector.errors import CollectorError
from hearsay.collector.store.connect import open_servers
from hearsay.collector.store.registry import Registry
from hearsay.collector.store.shard import Shard
from hearsay.collector.survey.survey import parse
from hearsay.mechanisms import catalogue
from tests.chaos import turns
from tests.chaos.faults import ProcessFaults
from tests.chaos.losses.explained import Loss, explain
from tests.chaos.losses.journal import keep_journal
from tests.chaos.processes import write_values
from tests.identity import make_known, survey_table

RATE = 2_000  # reports a second, of all producers together
TURNS_RATE, REPORTS_A_ROUND = 200, 500
ROAD_RATE = 500  # reports a second through the gateways
SURVEYS = ("buckets", "road", turns.NAME)


def make_all_known(patch: pytest.MonkeyPatch) -> None:
    """The mechanisms of these surveys, which no release has; and PUBLISH without a journal when the storm is over."""
    patch.setattr(Shard, "publish", Shard.publish)
    make_known(patch)
    ((name, forms),) = turns.MECHANISMS.items()
    patch.setitem(catalogue.MECHANISMS, name, tuple(catalogue.Listed(turns.__name__, form) for form in forms))


class Load:
    """Surveys with so many shards each, and who reports to them in a storm of so many seconds, until it is over.

    A producer that ends leaves what it sent last in a server's memory: a server that loses it then loses it for good.
    """

    def __init__(self, storm: ProcessFaults, seconds: float, shards: int = 1, slower: float = 1.0) -> None:
        seconds += storm.longest_s
        self._storm, self._seconds, self._pace = storm, seconds, 1 / slower
        self._reports, self._sent, devices = (
            2 * int(seconds * rate * self._pace / 2) for rate in (RATE, ROAD_RATE, TURNS_RATE)
        )
        registry = Registry(open_servers(storm.url))
        registry.add(parse(survey_table("identity", self._reports)), shards)
        registry.add(parse(survey_table("identity", self._sent, "road")), shards)
        storm.rounds = registry.add(parse(turns.survey_table(devices, REPORTS_A_ROUND)), shards)
        self._crowd = turns.Crowd(storm.rounds, devices, TURNS_RATE * self._pace)
        self._devices, self.losses = devices, list[Loss]()
        keep_journal(storm.journal)  # of the crowd, which is here

    def start(self) -> None:
        """Services and those who report."""
        storm, directory, half = self._storm, self._storm.directory, self._reports // 2
        storm.start_all()
        for number, (start, kind) in enumerate([(0, "--frame=100"), (half, "--single")]):
            write_values(directory / f"{number}.csv", start, start + half)
            storm.start(f"producer-{number}", "produce", "buckets", "--values", str(directory / f"{number}.csv"),
                        f"--rate={RATE * self._pace / 2}", kind)  # fmt: skip
        storm.wait_for_writers("buckets", 2)
        self._crowd.start()
        storm.start_senders("road", 2, self._sent, self._seconds)

    def finish(self) -> dict[str, int]:
        """What came of it, once all that was reported is counted; names in ** must be 0."""
        storm, crowd = self._storm, self._crowd
        failures = storm.failures(["producer-0", "producer-1", *storm.senders], 600)
        crowd.enough.set()
        crowd.join(timeout=600)
        storm.take_back()
        for name in SURVEYS:
            storm.wait_until_drained(name, 300)
            assert not any(shard.status().quarantined for shard in storm.registered(name).shards)
        states = {name: storm.state(name) for name in SURVEYS}
        answered = states[turns.NAME]
        lost = {name: np.flatnonzero(states[name]["hist"] == 0).tolist() for name in ("buckets", "road")}
        lost[turns.NAME] = _missing(crowd, answered["hist"])
        self.losses = explain(lost, storm.journal, storm.happened, promised=("road",))
        allowed = sum(loss.reports for loss in self.losses if loss.story.allowed)
        if crowd.failure is not None or crowd.is_alive():
            failures.append(f"the devices of {turns.NAME} failed: {crowd.failure!r}")
        failures += [f"{role} did not end on SIGTERM" for role in storm.stubborn]
        print(*failures, sep="\n", end="\n" if failures else "")
        return {
            "rounds": len(crowd.asked),
            "ranges quarantined after five attempts, and retried by command": storm.taken_back,
            "reports too late for their round, with an error to their writer": len(crowd.refused),
            "lost with their round, with an error to their writer": crowd.lost * crowd.frame,
            "lost by a server after their writer had ended": allowed,
            "**lost**": sum(map(len, lost.values())) - allowed,
            "**doubled**": sum(int((state["hist"] > 1).sum()) for state in states.values()),
            "**counted though refused**": sum(int(answered["hist"][value]) for value in crowd.refused),
            "**answers to a question that was not asked**": int(answered["misunderstood"][0]),
            "**producers that failed**": len(failures) - len(storm.stubborn),
            "**workers that outlived their supervisor**": len(storm.left_behind()),
            "**processes that did not end on SIGTERM**": len(storm.stubborn),
        }

    @property
    def reports(self) -> int:
        """How many were made in all."""
        return self._reports + self._sent + self._devices - len(self._crowd.left)

    def stop(self) -> None:
        self._crowd.stop.set()
        self._storm.stop()


def _missing(crowd: turns.Crowd, hist: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]") -> list[int]:
    """Reports that are not counted, without anybody having been told; those told lost with their round are as many."""
    asked = {value for batches in crowd.asked.values() for values in batches for value in values}
    missing = sorted(value for value in asked - crowd.refused if hist[value] == 0)
    return [] if len(missing) == crowd.lost * crowd.frame else missing


def strike_for(minutes: float, storm: ProcessFaults, load: Load) -> dict[str, int]:
    """One fault after the other while the load runs; answers what came of it."""
    try:
        load.start()
        deadline = time.monotonic() + 60 * minutes
        while time.monotonic() < deadline:
            time.sleep(0.2 + storm.choice.random() * 0.5)
            storm.strike()
            with suppress(redis.exceptions.RedisError, CollectorError):
                storm.take_back()
        return load.finish()
    finally:
        load.stop()


def main(run: Callable[[float, int, Path], int]) -> None:
    """A storm of MINUTES by SEED, as the environment says."""
    minutes, seed = float(os.environ.get("MINUTES", "5")), int(os.environ.get("SEED", str(int(time.time()))))
    with tempfile.TemporaryDirectory() as place:
        sys.exit(run(minutes, seed, Path(place)))


def print_table(faults: dict[str, int], outcome: dict[str, int], losses: Sequence[Loss], heading: str) -> bool:
    """The faults, what came of them, and the story of each loss; whether something is wrong."""
    print(f"{heading}\n| fault | times |\n|---|---|")
    for name, count in [*sorted(faults.items()), *outcome.items()]:
        print(f"| {name} | {count:,} |")
    print(*losses, sep="\n", end="\n" if losses else "")
    return any(count for name, count in outcome.items() if name.startswith("**"))
