"""A fleet publishes exactly one report per device, in frames or singly, over all shards, at the rate asked for."""

import threading
import time

import numpy as np
import pytest
import redis

from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.collector.wire.decode import FIELD_FRAME, FIELD_SINGLE, decode
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.producer import fleet
from hearsay.producer.fleet import Fleet
from hearsay.producer.populations import Population
from hearsay.producer.values import Rows

SURVEY = {"name": "ages", "mechanism": "hrr", "epsilon": 2.0, "domain": {"kind": "categorical", "size": 16}}


@pytest.fixture
def registered(client: redis.Redis, prefix: str) -> Registered:
    return Registry(client, prefix).add(parse(SURVEY), shards=2)


def entries(registered: Registered, shard: int) -> list[dict[bytes, bytes]]:
    store = registered.shards[shard]
    return [fields for _, fields in store.node.client.xrange(store.keys.stream)]


def people(count: int) -> Rows:
    return Rows(np.arange(count) % 16)


@pytest.mark.parametrize(("frame", "field"), [(100, FIELD_FRAME), (None, FIELD_SINGLE)])
def test_one_report_per_device_over_all_shards(registered: Registered, frame: int | None, field: bytes) -> None:
    seen: list[int] = []
    assert Fleet(registered, seeded(1), frame=frame).run(people(1001), 1001, seen.append) == 1001
    assert sum(seen) == 1001
    counts = []
    for shard in range(2):
        stored = entries(registered, shard)
        assert all(set(fields) == {field} for fields in stored)
        decoded = decode(registered.survey.mechanism, stored, codec(registered.survey.mechanism))
        assert not decoded.rejected
        counts.append(decoded.count)
    assert sorted(counts) == [500, 501]


def test_the_same_seed_publishes_the_same_bytes(registered: Registered) -> None:
    published = []
    for _ in range(2):
        before = len(entries(registered, 0))
        Fleet(registered, seeded(5), frame=64).run(people(300), 300)
        published.append(entries(registered, 0)[before:])
    assert published[0] == published[1]


def test_the_rate_is_kept(registered: Registered) -> None:
    drawn = Population("zipf", registered.survey.mechanism.domain, np.random.default_rng(1))
    started = time.monotonic()
    Fleet(registered, seeded(1), rate=2_000).run(drawn, 1_000)
    assert 0.45 <= time.monotonic() - started <= 2.0


def test_a_fleet_says_which_round_it_waits_for(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "ROUND_POLL_S", 0.01)
    domain = {"kind": "key-value", "keys": 3}
    films = Registry(client, prefix).add(parse({**SURVEY, "name": "films", "mechanism": "privkvm", "domain": domain}))
    stop, said = threading.Event(), []

    def waiting(cause: str) -> None:
        said.append(cause)
        if films.look().rounds.open:
            films.shards[0].close_round(1)
        else:
            stop.set()

    drawn = Population("uniform", films.survey.mechanism.domain, np.random.default_rng(1))
    assert Fleet(films, seeded(1), stop=stop, on_wait=waiting).run_rounds(drawn, 100) == 100
    assert said == ["round 1 is still open", "round 1 is closed, the next one not open yet"]


def test_wide_reports_make_small_frames() -> None:
    survey = parse({**SURVEY, "mechanism": "oue", "domain": {"kind": "categorical", "size": 1 << 20}})
    made = list(fleet.frames(survey.mechanism, codec(survey.mechanism), np.zeros(70, dtype=np.int64), seeded(1)))
    assert sum(count for _, count in made) == 70
    assert all(len(frame) <= fleet.FRAME_BYTES for frame, _ in made)


def test_rows_start_again_at_the_top() -> None:
    rows = Rows(np.array([[1, 2], [3, 4], [5, 6]]))
    assert rows.take(2).tolist() == [[1, 2], [3, 4]]
    assert rows.take(3).tolist() == [[5, 6], [1, 2], [3, 4]]


@pytest.mark.parametrize("frame", [10, None])
def test_a_fleet_under_pressure_can_be_stopped(registered: Registered, frame: int | None) -> None:
    """It ends wherever it waits, and answers what it knows to be stored."""
    stop, causes = threading.Event(), []

    def waiting(cause: str) -> None:
        causes.append(cause)
        stop.set()

    for store in registered.shards:
        store.set_pressure("memory")
    assert Fleet(registered, seeded(1), frame=frame, stop=stop, on_wait=waiting).run(people(100), 100) == 0
    assert causes == ["memory"]
    assert [len(entries(registered, shard)) for shard in range(2)] == [0, 0]
