"""Shards lie evenly on a cluster, and a survey gets more of them or fewer while reports come in."""

import json
import threading
import time
from collections import Counter

import numpy as np
import pytest
import redis
from redis.crc import key_slot

from hearsay.collector import following
from hearsay.collector.errors import SurveyConflict, SurveyError
from hearsay.collector.following import FOLLOW_S, Writers
from hearsay.collector.gateway import ids
from hearsay.collector.growth import set_shards
from hearsay.collector.store import keys
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.placement import SLOTS, shard_numbers, slot
from hearsay.collector.survey.registration import FORGET_MS, LATER_MS, Registration
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.estimator.readings import Readings, live
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops import cli
from hearsay.producer.fleet import Fleet
from hearsay.producer.request_id import new_request_id
from tests.identity import survey_table
from tests.pipeline import buckets, cut_all, fold, singles
from tests.rounds import rounds_table, two_rounds_known

__all__ = ["two_rounds_known"]


@pytest.mark.parametrize("masters", [3, 6, 16])
def test_the_fullest_master_has_its_share(masters: int) -> None:
    """As clusters deal slots: to each master one stretch of them, all equal but for a slot."""
    for number in range(50):
        for shards in (masters, 2 * masters):
            chosen = shard_numbers("session-minutes", f"{number:08x}", shards)
            assert len(set(chosen)) == shards
            on = Counter(slot("session-minutes", f"{number:08x}", each) * masters // SLOTS for each in chosen)
            assert max(on.values()) <= 1.1 * shards / masters


def test_slots_are_those_of_the_server() -> None:
    shard = keys.ShardKeys("hs", "session-minutes", "0123abcd", 17)
    assert slot("session-minutes", "0123abcd", 17) == key_slot(shard.stream.encode()) == key_slot(shard.meta.encode())


def test_shards_that_are_known_are_kept() -> None:
    two = shard_numbers("x", "abcd1234", 2)
    six = shard_numbers("x", "abcd1234", 6, two)
    assert set(two) < set(six)
    three = shard_numbers("x", "abcd1234", 3, six)
    assert set(three) < set(six)
    assert {each[0] for each in (two, six, three)} == {two[0]}  # it holds what is not counted by shard
    assert shard_numbers("x", "abcd1234", 6, (*three, *(set(six) - set(three)))) == six  # retired ones come back
    assert shard_numbers("x", "abcd1234", 1) == (0,)


def registration(shards: int) -> Registration:
    return Registration.new(parse(survey_table("identity", 10)), shards)


def test_registrations_are_read_as_they_were_written() -> None:
    for row in (registration(1), registration(3), registration(3).with_shards(5, 10**12).with_shards(2, 10**12 + 5)):
        assert Registration.parse(row.record()) == row
    assert json.loads(registration(1).record())["shards"] == 1  # as releases up to 0.2.0 read it
    old = {**json.loads(registration(1).record()), "shards": 3}
    assert Registration.parse(json.dumps(old).encode()).active == (0, 1, 2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"shards": 0},
        {"shards": []},
        {"shards": [1, 1]},
        {"shards": [-1]},
        {"shards": [True]},
        {"shards": [0], "retired": [0]},
        {"shards": [0], "retired": "x"},
        {"shards": [0], "dealt": [[1, [7]]]},
        {"shards": [0], "dealt": [[1, []]]},
        {"shards": [0], "dealt": 3},
    ],
    ids=str,
)
def test_shards_that_cannot_be_are_refused(wrong: dict[str, object]) -> None:
    table = {**json.loads(registration(1).record()), **wrong}
    with pytest.raises(SurveyError, match="shards"):
        Registration.parse(json.dumps(table).encode())


def test_a_repeated_request_meets_the_shard_that_has_its_id() -> None:
    now = 1_800_000_000_000
    before = registration(2)
    after = before.with_shards(6, now)
    last = after.with_shards(3, now + 60_000)
    for random in range(100):
        for time_ms in (now - 3_600_000, now, now + ids.EARLY_MS):  # as far ahead as a gateway lets ids be
            known = before.for_request(time_ms, random)
            assert after.for_request(time_ms, random) == last.for_request(time_ms, random) == known
    late = {last.for_request(now + 2 * LATER_MS, random) for random in range(100)}
    assert late == set(last.active)
    forgotten = last.with_shards(2, now + 2 * FORGET_MS)
    assert len(forgotten.dealt) == 2  # nobody remembers ids that old


def test_writers_follow(client: redis.Redis, prefix: str) -> None:
    registry = Registry(client, prefix)
    registered = registry.add(parse(survey_table("identity", 10)), 2)
    now = 0.0
    writers = Writers(registered, lambda shard, _: Writer(shard), lambda: now)
    assert [writer.shard.shard for writer in writers.follow()] == list(registered.registration.active)
    grown = set_shards(registry, "buckets", 4)
    assert len(writers.follow()) == 2
    now = FOLLOW_S
    assert [writer.shard.shard for writer in writers.follow()] == list(grown.registration.active)
    set_shards(registry, "buckets", 1)
    now = 2 * FOLLOW_S
    assert len(writers.follow()) == 1
    assert len(writers.every) == 4
    registry.delete("buckets")
    now = 3 * FOLLOW_S
    assert len(writers.follow()) == 1


class Numbers:
    """Every value once."""

    def __init__(self) -> None:
        self.next = 0

    def take(self, count: int) -> np.ndarray:
        self.next += count
        return np.arange(self.next - count, self.next)


def drain(registered: Registered) -> None:
    for shard in registered.shards:
        for found in cut_all(shard):
            assert fold(shard, found) == "ok"


def test_two_shards_become_six_and_three_under_load(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert FOLLOW_S < 5.0, "writers follow within five seconds"
    monkeypatch.setattr(following, "FOLLOW_S", FOLLOW_S / 4)
    size = 20_000
    buckets(client, prefix, size, name="other")  # jobs of this process work on this prefix
    registry, readings = Registry(client, prefix), Readings()
    registered = registry.add(parse(survey_table("identity", size)), 2)
    fleet = Fleet(registered, seeded(1), frame=None, rate=4_000)
    sending = threading.Thread(target=fleet.run, args=(Numbers(), size))
    sending.start()
    try:
        for shards in (6, 3):
            time.sleep(0.3)
            before = set_shards(registry, "buckets", shards)
            changed = time.monotonic()
            counts = [shard.status().published_reports for shard in before.active]
            while any(now.status().published_reports <= then for now, then in zip(before.active, counts, strict=True)):
                assert time.monotonic() < changed + 5.0
                drain(registry.get("buckets"))
                assert readings.live(registry.get("buckets")).reports > 0
    finally:
        sending.join()
    registered = registry.get("buckets")
    drain(registered)
    assert (len(registered.active), len(registered.shards)) == (3, 6)
    assert (live(registered).state["hist"] == 1).all()
    assert (readings.live(registered).state["hist"] == 1).all()
    assert all(shard.status().published_reports for shard in registered.shards)


def test_what_cannot_be_is_refused(client: redis.Redis, prefix: str, capsys: pytest.CaptureFixture[str]) -> None:
    registry = Registry(client, prefix)
    registry.add(parse(survey_table("identity", 10)), 2)
    for number in (0, -1, 1_025):
        with pytest.raises(SurveyConflict, match=r"shards must be in 1\.\.1024"):
            set_shards(registry, "buckets", number)
    with pytest.raises(SurveyConflict, match="exists with 2 shards, got 3; change them with: hearsay survey shards"):
        registry.add(parse(survey_table("identity", 10)), 3)
    rounds = registry.add(parse(rounds_table(4)), 3).survey.name
    with pytest.raises(SurveyConflict, match="open round"):
        set_shards(registry, rounds, 2)
    grown = set_shards(registry, rounds, 5)
    assert all(look.open_round == 1 for look in grown.look().shards)


def test_two_who_change_a_survey_at_once_lose_no_shard(client: redis.Redis, prefix: str) -> None:
    registry = Registry(client, prefix)
    known = registry.add(parse(survey_table("identity", 10)), 2)
    set_shards(registry, "buckets", 4)
    stale = known.registration.with_shards(3, 10**12)
    assert not registry.bind(known, stale)
    assert len(registry.get("buckets").active) == 4


def test_a_closed_survey_gets_closed_shards(client: redis.Redis, prefix: str) -> None:
    registry = Registry(client, prefix)
    registry.add(parse(survey_table("identity", 10)), 1)
    registry.close("buckets")
    assert [look.open for look in set_shards(registry, "buckets", 3).look().shards] == [False] * 3


def test_the_command_says_what_it_did(
    client: redis.Redis, server: object, prefix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    registry = Registry(client, prefix)
    registry.add(parse({**survey_table("grr", 4), "mechanism": "grr"}), 2)
    where = ["--redis-url", server.url, "--prefix", prefix]  # type: ignore[attr-defined]
    assert cli.run(["survey", "shards", "buckets", "6", *where]) == 0
    assert cli.run(["survey", "shards", "buckets", "3", "--json", *where]) == 0
    said = capsys.readouterr().out
    assert said.startswith("survey buckets: 6 active shards\n")
    table = json.loads(said.partition("\n")[2])
    assert (len(table["active"]), len(table["retired"])) == (3, 3)
    assert cli.run(["survey", "shards", "buckets", "0", *where]) == 2


def test_a_repeated_request_is_stored_once_after_a_change(client: redis.Redis, prefix: str) -> None:
    registry = Registry(client, prefix)
    registered = registry.add(parse(survey_table("identity", 10)), 2)
    now_ms = registered.shards[0].now_ms()
    requests = [ids.parse(new_request_id().encode(), now_ms) for _ in range(40)]
    for turn in range(2):
        for number, request in enumerate(requests):
            shard = request.shard(registered)
            name = {request.hour: request.packed(b"body", None)}
            status = shard.publish(f"w{turn}-{number}", 1, singles(shard, [1]), 1, ids=name).status
            assert status == ("ok", "known")[turn]
        registered = set_shards(registry, "buckets", 6)
