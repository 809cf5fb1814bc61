"""One of three estimators is killed: the others have its surveys fresh within ten seconds, each series once."""

import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis
from prometheus_client.parser import text_string_to_metric_families

from hearsay.collector.sharing import BEAT_S
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.ops.server.embedded import EmbeddedServer, free_port
from hearsay.workers.context import Context, set_current
from tests.chaos.processes import ROOT
from tests.cluster import until
from tests.identity import known_to_this_process, survey_table
from tests.pipeline import fold_all, singles

__all__ = ["known_to_this_process"]
SURVEYS, ESTIMATORS, FRESH_S = 12, 3, 10.0
OF_EACH_PROCESS = ("hearsay_up", "hearsay_node_up", "python_", "process_")  # what every process says of itself
pytestmark = pytest.mark.slow


class Reports(threading.Thread):
    """A report for every survey, folded at once, over and over."""

    def __init__(self, surveys: list[Registered]) -> None:
        super().__init__()
        self._writers = [Writer(each.shards[0]) for each in surveys]
        self.stop = threading.Event()

    def run(self) -> None:
        while not self.stop.wait(0.3):
            for writer in self._writers:
                writer.publish(singles(writer.shard, [1]), 1)
                fold_all(writer.shard)


class Estimator:
    """A real process."""

    def __init__(self, server: EmbeddedServer, prefix: str, directory: Path) -> None:
        self.port = free_port()
        settings = {
            "HEARSAY_REDIS_URL": server.url,
            "HEARSAY_PREFIX": prefix,
            "HEARSAY_DATA_DIR": str(directory),
            "HEARSAY_PORT": str(self.port),
            "HEARSAY_PERIOD_S": "0.5",
            "HEARSAY_PLUGINS": "tests.identity",
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hearsay", "estimate"],
            env={**os.environ, **settings, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def series(self) -> Iterator[tuple[str, frozenset[tuple[str, str]]]]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if not sample.name.startswith(OF_EACH_PROCESS):
                    yield sample.name, frozenset(sample.labels.items())

    def __enter__(self) -> "Estimator":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()


def reports_shown(surveys: list[Registered]) -> list[int]:
    """How many reports the snapshot of each survey has."""
    documents = [each.shards[0].snapshot("all") for each in surveys]
    return [0 if document is None else int(document["reports"]) for document in documents]


def told(estimators: list[Estimator]) -> dict[str, int]:
    """Surveys, with how often the same series of them is exported."""
    counted = Counter(each for estimator in estimators for each in estimator.series())
    most: dict[str, int] = {}
    for (_, labels), times in counted.items():
        if (survey := dict(labels).get("survey")) is not None:
            most[survey] = max(most.get(survey, 0), times)
    return most


def test_a_killed_estimators_surveys_are_fresh_within_ten_seconds(
    server: EmbeddedServer, client: redis.Redis, prefix: str, tmp_path: Path
) -> None:
    set_current(Context(client, prefix))
    registry, answers = Registry(client, prefix), {"minimum_reports": 1}
    names = [f"survey-{number}" for number in range(SURVEYS)]
    surveys = [registry.add(parse(survey_table("identity", 8, name=name, answers=answers))) for name in names]
    sending = Reports(surveys)
    with ExitStack() as stack:
        made = [stack.enter_context(Estimator(server, prefix, tmp_path / str(each))) for each in range(ESTIMATORS)]
        sending.start()
        stack.callback(sending.join)
        stack.callback(sending.stop.set)
        until(lambda: all(reports_shown(surveys)), 60)
        until(lambda: len(registry.heartbeats.marks()) == ESTIMATORS)
        time.sleep(2 * BEAT_S)  # until each has seen the others
        assert told(made) == dict.fromkeys(names, 1)
        shares = [told([each]) for each in made]
        assert all(shares), "each has some of the surveys"
        victim = made[0]
        victim.process.kill()
        killed, before = time.monotonic(), [each.look().published_reports for each in surveys]
        took: dict[str, float] = {}
        while len(took) < SURVEYS:
            for name, shown, known in zip(names, reports_shown(surveys), before, strict=True):
                if shown > known:  # it has a report that came after the kill
                    took.setdefault(name, time.monotonic() - killed)
            assert time.monotonic() < killed + FRESH_S, f"fresh after {took}"
            time.sleep(0.1)
        of_victim = {name: seconds for name, seconds in took.items() if name in shares[0]}
        print(f"{len(of_victim)} surveys of the killed one fresh after {max(of_victim.values()):.1f} s, "
              f"the others after {max(took[name] for name in names if name not in shares[0]):.1f} s")  # fmt: skip
        time.sleep(BEAT_S)  # until both that are left have seen it
        assert told(made[1:]) == dict.fromkeys(names, 1)
