"""Rounds on real processes: estimators die in the middle of a round and between closing it and opening the next."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hearsay.collector.errors import RoundClosed
from hearsay.collector.store.connect import connect
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.collector.wire.decode import FIELD_FRAME, decode
from hearsay.collector.writer import Writer
from hearsay.estimator.readings import live
from hearsay.estimator.snapshots import loading
from hearsay.mechanisms import State
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.key_value.calibration import theta
from hearsay.mechanisms.key_value.pairs import Pairs
from hearsay.ops.server.embedded import EmbeddedServer, free_port
from hearsay.producer.fleet import frames
from tests.chaos.processes import Pipeline

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="real processes, killed")
F, M = np.array([0.3, 0.5, 0.7, 0.9]), np.array([-0.5, 0.4, -0.8, 0.2])
DEVICES = 48_000


def survey_of(**rounds: object) -> dict[str, object]:
    return {
        "name": "films",
        "mechanism": "privkvm",
        "epsilon": 4.0,
        "domain": {"kind": "key-value", "keys": 4},
        "options": {"rounds": 3, "estimator": "paper", "initial": 1.0},
        "rounds": rounds,
    }


class Crowd:
    """Devices that report straight to the shards, and a fold of exactly what the shards took."""

    def __init__(self, registered: Registered) -> None:
        self.registered = registered
        self.random = seeded(11)
        generator = np.random.default_rng(3)
        device, key = np.nonzero(generator.random((DEVICES, 4)) < F)
        self.pairs = Pairs.grouped(device, key, M[key], DEVICES)
        self.reference: State = registered.survey.mechanism.empty()
        self.refused = 0
        self.writers = [Writer(store) for store in registered.shards]
        self.mechanism = registered.survey.mechanism

    def join(self, number: int) -> None:
        """Wait for a round and take part in it."""
        until(lambda: self.registered.look().rounds.number == number and self.registered.look().rounds.open)
        self.mechanism = self.registered.survey.in_round(self.registered.look().rounds.history(number)).mechanism
        self.number = number

    def report(self, devices: slice, shards: tuple[int, ...] = (0, 1)) -> None:
        """One report each; nobody who is refused is asked again."""
        wire = codec(self.mechanism)
        for shard in shards:
            mine = self.pairs[devices][shard :: len(shards)]
            made = list(frames(self.mechanism, wire, mine, self.random, 500))
            taken = len(made)
            try:
                self.writers[shard].publish([(FIELD_FRAME, frame) for frame, _ in made], len(mine), self.number)
            except RoundClosed as over:
                taken -= min(over.entries, len(made))
                self.refused += sum(count for _, count in made[taken:])
            for frame, _ in made[:taken]:
                self.mechanism.fold(self.reference, decode(self.mechanism, [{b"f": frame}], wire).reports)


def until(happened: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def kill(pipeline: Pipeline, *roles: str) -> None:
    for role in roles:
        pipeline.processes[role].kill()
        pipeline.processes[role].wait()


def start(pipeline: Pipeline, *roles: str) -> None:
    for role in roles:
        pipeline.start(role, "estimate", "--port", str(free_port()))


def test_rounds_survive_their_estimators(own_server: EmbeddedServer, tmp_path: Path) -> None:
    registered = Registry(connect(own_server.url)).add(parse(survey_of(reports=40_000)), 2)
    pipeline = Pipeline(own_server, tmp_path)
    crowd = Crowd(registered)
    try:
        pipeline.start("collector", "collect")
        pipeline.start("workers", "work")
        start(pipeline, "one", "two")  # two estimators drive the same rounds
        crowd.join(1)
        crowd.report(slice(0, 20_000))
        kill(pipeline, "one")  # in the middle of a round
        crowd.report(slice(20_000, 30_000))
        start(pipeline, "one")
        crowd.report(slice(30_000, 40_000))  # enough: the estimators close it; the last 8,000 devices drop out
        crowd.join(2)
        crowd.report(slice(4_000, 24_000))  # others than in round 1 are missing
        kill(pipeline, "one", "two")
        registered.shards[0].close_round(2)  # an estimator dies between two shards
        crowd.report(slice(24_000, 26_000))  # half of them meet a closed shard
        assert crowd.refused == 1_000
        assert [store.rounds().open for store in registered.shards] == [False, True]
        registered.shards[1].close_round(2)  # another one between closing and publishing what comes next
        pipeline.wait_until_drained("films", 60)
        crowd.report(slice(26_000, 27_000))
        assert crowd.refused == 2_000
        assert registered.look().rounds.number == 2
        start(pipeline, "one", "two")
        crowd.join(3)
        crowd.report(slice(8_000, DEVICES))
        until(lambda: registered.look().closed and all(store.status().outstanding == 0 for store in registered.shards))
        found = live(registered)
        shots = [_final(tmp_path / "var" / "snapshots" / "films" / f"r{number}") for number in (1, 2, 3)]
    finally:
        pipeline.stop()
    assert found.final
    assert not found.rejected
    assert {name: array.tolist() for name, array in found.state.items()} == {
        name: array.tolist() for name, array in crowd.reference.items()
    }
    assert [int(crowd.reference[name].sum()) for name in ("r1/counts", "r2/signs", "r3/signs")] == [
        40_000,
        21_000,
        40_000,
    ]
    _bias_shrinks(shots)


def _final(directory: Path) -> loading.Snapshot:
    def is_final() -> bool:
        path = directory / "snapshot.json"
        return path.exists() and json.loads(path.read_text())["status"] == "final"

    until(is_final)
    return loading.load(directory)


def _bias_shrinks(shots: list[loading.Snapshot]) -> None:
    """The paper's estimate is off by theta_1 (1 - m) after round 1, and by 1 - f times as much a round later."""
    mechanism = shots[0].survey.mechanism
    presence, gain = np.exp(2) / (1 + np.exp(2)), np.tanh(4 / 6 / 2)
    bias = (1.0 - M) * theta(F, presence)
    assert mechanism.presence_keep / 2**64 == pytest.approx(presence)
    for number, shot in enumerate(shots):
        means = shot.estimate().means.value[:, 0]
        noise = 1 / (gain * np.sqrt(20_000 / 4 if number else 40_000 / 4 * 0.4))
        assert (np.abs(means - np.clip(M + bias, -1, 1)) < 5 * noise).all(), number
        # What was published is that estimate, with its own noise, so the next bias starts from it.
        bias = (1 - F) * (means - M)
    first, last = (np.abs(shot.estimate().means.value[:, 0] - M).mean() for shot in (shots[0], shots[2]))
    assert last < first


def test_a_round_without_reports_ends_and_the_survey_goes_on(own_server: EmbeddedServer, tmp_path: Path) -> None:
    registered = Registry(connect(own_server.url)).add(parse(survey_of(within="2s")), 2)
    pipeline = Pipeline(own_server, tmp_path)
    crowd = Crowd(registered)
    try:
        pipeline.start("collector", "collect")
        pipeline.start("workers", "work")
        start(pipeline, "one")
        crowd.join(1)
        crowd.report(slice(0, 4_000))
        crowd.join(3)  # nobody came to round 2
        crowd.report(slice(0, 4_000))
        until(lambda: registered.look().closed)
        found = live(registered)
    finally:
        pipeline.stop()
    assert found.final
    assert [int(array.sum()) for array in found.state.values()] == [4_000, 0, 4_000]
    assert {name: array.tolist() for name, array in found.state.items()} == {
        name: array.tolist() for name, array in crowd.reference.items()
    }
    assert [store.rounds().open for store in registered.shards] == [False, False]
