"""Exactness under faults: processes and server die at random moments, and every report still counts exactly once."""

import json
import random
import time
from pathlib import Path

import numpy as np
import pytest

from hearsay.collector.store.connect import connect
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.server.embedded import EmbeddedServer, free_port
from tests.chaos.processes import Pipeline, write_values
from tests.identity import make_known, survey_table

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds worker processes in /proc")


def test_every_report_counts_once_under_fire(
    own_server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_under_fire(own_server, tmp_path, monkeypatch, reports=120_000, kills=12, seed=1)


@pytest.mark.slow
def test_every_report_counts_once_under_long_fire(
    own_server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_under_fire(own_server, tmp_path, monkeypatch, reports=2_000_000, kills=100, seed=int(time.time()))


def run_under_fire(
    server: EmbeddedServer, directory: Path, monkeypatch: pytest.MonkeyPatch, reports: int, kills: int, seed: int
) -> None:
    print(f"seed {seed}")
    make_known(monkeypatch)
    survey = parse(survey_table("identity", reports))
    Registry(connect(server.url)).add(survey)
    pipeline = Pipeline(server, directory)
    choice = random.Random(seed)
    rate = reports / (kills * 1.2)  # so that devices still report while the last process dies
    try:
        pipeline.start_services(free_port())
        for number, (start, kind) in enumerate([(0, "--frame=500"), (reports // 2, "--single")]):
            values = directory / f"{number}.csv"
            write_values(values, start, start + reports // 2)
            pipeline.start(
                f"producer-{number}", "produce", "buckets", "--values", str(values), f"--rate={rate / 2}", kind
            )
        pipeline.wait_for_writers("buckets", 2)  # a producer needs a server when it starts, not afterwards
        while len(pipeline.kills) < kills:
            time.sleep(0.2 + choice.random() * 0.6)
            pipeline.kill_something(choice)
        for number in range(2):
            assert pipeline.processes.pop(f"producer-{number}").wait(timeout=300) == 0, read_log(directory, number)
        pipeline.wait_until_drained("buckets", 120)
        state = pipeline.state("buckets")
        final = wait_for_snapshot(pipeline, reports)
    finally:
        pipeline.stop()
    assert {"worker", "collector", "estimator", "server"} <= set(pipeline.kills)
    reference = survey.mechanism.fold(survey.mechanism.empty(), survey.mechanism.perturb(np.arange(reports), seeded(0)))
    assert state["hist"].tobytes() == reference["hist"].tobytes()
    assert (state["hist"] == 1).all()
    assert final["reports"] == reports


def wait_for_snapshot(pipeline: Pipeline, reports: int) -> dict[str, object]:
    """The estimator's own view, once it has caught up."""
    path = pipeline.directory / "var" / "snapshots" / "buckets" / "all" / "snapshot.json"
    deadline = time.monotonic() + 60
    while True:
        if path.exists():
            snapshot: dict[str, object] = json.loads(path.read_text())
            if snapshot["reports"] == reports:
                return snapshot
        assert time.monotonic() < deadline, "the estimator did not catch up"
        time.sleep(0.2)


def read_log(directory: Path, number: int) -> str:
    return (directory / f"producer-{number}.log").read_text()[-2_000:]
