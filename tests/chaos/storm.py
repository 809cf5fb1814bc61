"""`make chaos`: every process doubled, and for minutes on end everything that can go wrong; then reports are counted.

One survey without rounds, one with many short ones, and one whose reports come through two gateways. Every value is
reported once: 0 is a loss, 2 a double count. docs/explanation/guarantees.md says what may be lost: here nothing, since
producers live until the end and gateways are durable, but for reports of a round that was closed when the server had
lost them, which the writer tells.
"""

import os
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import redis

from hearsay.collector.store.connect import connect
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import parse
from hearsay.mechanisms import catalogue
from hearsay.ops.server.embedded import EmbeddedServer
from tests.chaos import turns
from tests.chaos.faults import FAKETIME, Storm
from tests.chaos.processes import write_values
from tests.identity import make_known, survey_table

RATE = 2_000  # reports a second, of all producers together
TURNS_RATE, REPORTS_A_ROUND = 200, 500
ROAD_RATE = 500  # reports a second through the gateways
KILLS_A_MINUTE = 20


def run(minutes: float, seed: int, directory: Path) -> int:
    """Print a table of faults; 1 where a report was lost or doubled."""
    with pytest.MonkeyPatch.context() as patch:
        make_known(patch)
        patch.setitem(catalogue.MECHANISMS, *_listed())
        reports, devices = int(60 * minutes * RATE), int(60 * minutes * TURNS_RATE)
        survey = parse(survey_table("identity", reports))
        server = EmbeddedServer(directory / "server")
        storm = Storm(server, directory, random.Random(seed))
        storm.start_server()
        registry = Registry(connect(server.url))
        registry.add(survey)
        sent = int(60 * minutes * ROAD_RATE)
        registry.add(parse(survey_table("identity", sent, "road")))
        rounds = registry.add(parse(turns.survey_table(devices, REPORTS_A_ROUND)))
        storm.rounds = rounds
        crowd = turns.Crowd(rounds, devices, TURNS_RATE)
        try:
            storm.start_all()
            for number, (start, kind) in enumerate([(0, "--frame=100"), (reports // 2, "--single")]):
                write_values(directory / f"{number}.csv", start, start + reports // 2)
                storm.start(f"producer-{number}", "produce", "buckets", "--values", str(directory / f"{number}.csv"),
                            f"--rate={RATE / 2}", kind)  # fmt: skip
            storm.wait_for_writers("buckets", 2)
            crowd.start()
            storm.start_senders("road", 2, sent, 60 * minutes)
            deadline = time.monotonic() + 60 * minutes
            while time.monotonic() < deadline:
                time.sleep(0.2 + storm.choice.random() * 0.5)
                storm.strike()
                with suppress(redis.exceptions.RedisError):
                    storm.take_back()
            codes = [storm.processes.pop(f"producer-{number}").wait(timeout=600) for number in range(2)]
            codes += storm.wait_for_senders(600)
            crowd.enough.set()
            crowd.join(timeout=600)
            storm.take_back()
            for name in ("buckets", "road", turns.NAME):
                storm.wait_until_drained(name, 300)
                assert storm.store(name).status().quarantined == 0
            hist = np.concatenate([storm.state(name)["hist"] for name in ("buckets", "road")])
            answered = _all_rounds(rounds)
            orphans = storm.left_behind()
        finally:
            crowd.stop.set()
            storm.stop()
            server.stop()
    failed = sum(map(bool, codes)) + (crowd.failure is not None or crowd.is_alive())
    if crowd.failure is not None:
        print(f"the devices of {turns.NAME} failed: {crowd.failure!r}")
    return _table(storm.faults, reports + sent + devices - len(crowd.left), seed, minutes, {
        "rounds": len(crowd.asked),
        "ranges put aside after five attempts, and taken back by command": storm.taken_back,
        "reports too late for their round, and told so": len(crowd.refused),
        "lost with their round, and told so": crowd.lost * crowd.frame,
        "**lost**": int((hist == 0).sum()) + _missing(crowd, answered["hist"]),
        "**doubled**": int((hist > 1).sum()) + int((answered["hist"] > 1).sum()),
        "**answers to a question that was not asked**": int(answered["misunderstood"][0]),
        "**producers that failed**": failed,
        "**workers that outlived their supervisor**": len(orphans),
        "**processes that did not end when told**": len(storm.stubborn),
    })  # fmt: skip


def _listed() -> tuple[str, tuple[catalogue.Listed, ...]]:
    ((name, forms),) = turns.MECHANISMS.items()
    return name, tuple(catalogue.Listed(turns.__name__, form) for form in forms)


def _all_rounds(registered: Registered) -> dict[str, "np.ndarray[tuple[int, ...], np.dtype[np.int64]]"]:
    from hearsay.estimator.readings import live

    return dict(live(registered).state)


def _missing(crowd: turns.Crowd, hist: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]") -> int:
    """Reports that are not counted, without anybody having been told; those told lost with their round are as many."""
    asked = {value for batches in crowd.asked.values() for values in batches for value in values}
    missing = {value for value in asked - crowd.refused if hist[value] == 0}
    counted_though_refused = sum(int(hist[value]) for value in crowd.refused)
    return abs(len(missing) - crowd.lost * crowd.frame) + counted_though_refused


def _table(faults: Counter[str], reports: int, seed: int, minutes: float, outcome: dict[str, int]) -> int:
    kills = sum(count for name, count in faults.items() if "kill -9" in name)
    print(f"MINUTES={minutes:g} SEED={seed}: {reports:,} reports, {kills} kills, "
          f"clock turned by {'libfaketime' if FAKETIME.exists() else 'the scripts'}")  # fmt: skip
    print("| fault | times |\n|---|---|")
    for name, count in [*sorted(faults.items()), *outcome.items()]:
        print(f"| {name} | {count:,} |")
    wrong = {name: count for name, count in outcome.items() if name.startswith("**") and count}
    if kills < KILLS_A_MINUTE * minutes:
        print(f"only {kills} kills: the machine is too busy for a storm")
        return 1
    return int(bool(wrong))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        sys.exit(
            run(float(os.environ.get("MINUTES", "5")), int(os.environ.get("SEED", str(int(time.time())))), Path(place))
        )
