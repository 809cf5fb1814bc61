"""Batches of requests on their way into a shard: lost replies, servers that lose, repeats by other processes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import redis

from hearsay.collector import limits
from hearsay.collector.gateway.batch import Batch
from hearsay.collector.gateway.publisher import Publisher
from hearsay.collector.store.look import Look
from hearsay.collector.store.registry import Registry
from hearsay.collector.store.shard import Published, Shard
from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.mechanisms.exact.randomness import seeded
from tests.pipeline import Tail, buckets, fold_all, state_of, watched
from tests.rounds import rounds_table, two_rounds_known

__all__ = ["two_rounds_known"]
HOUR = 490_000


@pytest.fixture
def store(client: redis.Redis, prefix: str) -> Shard:
    return buckets(client, prefix, 60).shards[0]


def batch_of(store: Shard, values: dict[int, int], digest: bytes = b"same", hour: int = HOUR) -> tuple[Batch, Any]:
    """Requests of one report each: id to value."""
    reports = {"value": np.array(list(values.values()), dtype=np.uint32)}
    names = [identity.to_bytes(8, "big") + digest for identity in values]
    batch = Batch([hour] * len(values), names, reports, np.arange(len(values)))
    return batch, codec(store.survey.mechanism)


def codes(publisher: Publisher, values: dict[int, int], **more: Any) -> list[str | None]:
    outcomes = publisher.publish(*batch_of(publisher.shard, values, **more))
    return [None if outcome is None else outcome.code for outcome in outcomes]


def counted(store: Shard) -> list[int]:
    """The values that were counted; one that was counted twice is there twice."""
    fold_all(store)
    hist = state_of(store)["hist"]
    return np.repeat(np.arange(len(hist)), hist).tolist()


class Troubled:
    """A shard whose calls meet trouble first."""

    def __init__(self, shard: Shard) -> None:
        self._shard, self.survey, self.shard, self.node = shard, shard.survey, shard.shard, shard.node
        self.before: list[Callable[[], None]] = []  # done in turn before a call
        self.lose_reply = 0

    def publish(self, *words: Any) -> Published:
        if words[1] and self.before:
            self.before.pop(0)()
        answer = self._shard.publish(*words)
        if words[1] and self.lose_reply:
            self.lose_reply -= 1
            raise redis.exceptions.ConnectionError
        return answer

    def leave(self, name: str) -> None:
        self._shard.leave(name)

    def look(self) -> Look:
        return self._shard.look()


def troubled(store: Shard, **more: Any) -> tuple[Publisher, Troubled]:
    shard = Troubled(store)
    return Publisher(shard, **more), shard  # type: ignore[arg-type]


def test_a_repeat_is_stored_once_by_whichever_process(store: Shard) -> None:
    one, two = Publisher(store), Publisher(store)
    assert codes(one, {1: 1, 2: 2}) == [None, None]
    assert codes(two, {2: 2, 3: 3}) == [None, None]
    assert codes(one, {3: 3, 1: 1}) == [None, None]
    assert counted(store) == [1, 2, 3]


def test_another_body_under_the_same_id_is_refused_and_the_others_count(store: Shard) -> None:
    publisher = Publisher(store)
    assert codes(publisher, {1: 1}) == [None]
    assert codes(publisher, {2: 2, 1: 5, 3: 3}, digest=b"more") == [None, "id-reused", None]
    assert counted(store) == [1, 2, 3]


def test_a_lost_reply_is_no_second_append(store: Shard) -> None:
    publisher, shard = troubled(store)
    shard.lose_reply = 2
    assert codes(publisher, {1: 1}) == [None]
    assert codes(publisher, {2: 2}) == [None]
    assert counted(store) == [1, 2]


def test_a_batch_that_was_given_up_may_be_stored_and_its_number_is_not_used_again(store: Shard) -> None:
    """Else the next batch would be taken for a repeat of it, answered as stored, and lost."""
    publisher, shard = troubled(store, deadline_s=0.0)
    shard.lose_reply = 1
    assert codes(publisher, {1: 1}) == ["server"]
    assert codes(publisher, {2: 2}) == [None]
    assert codes(publisher, {1: 1}) == [None]  # the device sends it again
    assert counted(store) == [1, 2]


@pytest.mark.parametrize("how", ["next batch", "check", "end"])
def test_what_a_server_lost_is_sent_again(
    store: Shard, client: redis.Redis, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    publisher = Publisher(store)
    assert codes(publisher, {1: 1}) == [None]
    tail = Tail(client)
    assert codes(publisher, {2: 2, 3: 3}) == [None, None]
    assert codes(publisher, {4: 4}) == [None]
    tail.lose()
    assert codes(Publisher(store), {3: 3}) == [None]  # a device repeats one of them elsewhere
    {"next batch": lambda: codes(publisher, {5: 5}), "check": publisher.check, "end": publisher.close}[how]()
    assert counted(store) == [1, 2, 3, 4] + ([5] if how == "next batch" else [])
    assert publisher.lost == 0
    (line,) = [vars(record) for record in caplog.records if record.name == "hearsay.gateway"]
    assert line["message"] == "sent again what the server may have lost"
    assert (line["requests"], line["survey"], line["server"]) == (4, store.survey.name, store.node.address)


def test_what_was_lost_under_pressure_is_sent_again_later(store: Shard, client: redis.Redis) -> None:
    publisher = Publisher(store)
    tail = Tail(client)
    codes(publisher, {1: 1})
    tail.lose()
    store.set_pressure("memory")
    publisher.check()
    assert codes(publisher, {2: 2}) == ["server"]
    store.set_pressure(None)
    assert codes(publisher, {2: 2}) == [None]
    assert counted(store) == [1, 2]
    assert publisher.lost == 0


def test_what_was_given_up_meanwhile_is_still_sent_again(store: Shard, client: redis.Redis) -> None:
    """The server restarts, has lost its tail, and does not answer in time: both at once."""
    publisher, shard = troubled(store, deadline_s=0.0)
    tail = Tail(client)
    codes(publisher, {1: 1})

    def crash() -> None:
        tail.lose()
        raise redis.exceptions.ConnectionError

    shard.before = [crash]
    assert codes(publisher, {2: 2}) == ["server"]
    assert codes(publisher, {3: 3}) == [None]
    assert counted(store) == [1, 3]


def test_what_came_too_late_to_be_sent_again_is_told(store: Shard, client: redis.Redis) -> None:
    publisher = Publisher(store)
    tail = Tail(client)
    codes(publisher, {1: 1, 2: 2})
    tail.lose()
    store.close()
    publisher.check()
    assert publisher.lost == 2


def test_batches_are_let_go_when_no_server_can_lose_them(store: Shard, client: redis.Redis) -> None:
    now = [0.0]
    publisher = Publisher(store, clock=lambda: now[0])
    codes(publisher, {1: 1})
    assert len(publisher._stored) == 1
    now[0] = limits.RESEND_WINDOW_S + 1
    publisher.check()
    assert len(publisher._stored) == 0


def test_what_a_server_lost_is_sent_again_though_it_was_away_for_long(store: Shard, client: redis.Redis) -> None:
    now = [0.0]
    publisher = Publisher(store, clock=lambda: now[0])
    codes(publisher, {1: 1})
    tail = Tail(client)
    codes(publisher, {2: 2})
    tail.lose()
    now[0] = limits.RESEND_WINDOW_S + 5
    assert codes(publisher, {3: 3}) == [None]
    assert counted(store) == [1, 2, 3]


def test_after_a_long_silence_it_takes_a_new_name(store: Shard, client: redis.Redis) -> None:
    now = [0.0]
    publisher = Publisher(store, clock=lambda: now[0])
    codes(publisher, {1: 1})
    now[0] = limits.DEDUP_WINDOW_S + 1
    watched(client, store, limits.DEDUP_WINDOW_S + 1)
    store.trim()
    assert codes(publisher, {1: 1}) == ["expired"]
    assert codes(publisher, {2: 2}, hour=HOUR + 1) == [None]
    assert counted(store) == [1, 2]


def test_refusals_of_the_server(store: Shard, client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    publisher = Publisher(store)
    store.set_pressure("memory")
    assert codes(publisher, {1: 1}) == ["pressure"]
    store.set_pressure(None)
    store.close()
    assert codes(publisher, {1: 1}) == ["closed"]
    client.delete(store.keys.meta)
    assert codes(publisher, {1: 1}) == ["unknown-survey"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (redis.exceptions.OutOfMemoryError("OOM"), "pressure"),
        (redis.exceptions.ResponseError("MISCONF no space"), "server"),
        (redis.exceptions.TimeoutError(), "server"),
    ],
)
def test_trouble_of_the_server(store: Shard, error: Exception, code: str) -> None:
    publisher, shard = troubled(store, deadline_s=0.0)

    def trouble() -> None:
        raise error

    shard.before = [trouble]
    assert codes(publisher, {1: 1}) == [code]
    assert codes(publisher, {1: 1}) == [None]
    assert counted(store) == [1]


def test_a_round_that_is_over(client: redis.Redis, prefix: str) -> None:
    store = Registry(client, prefix).add(parse(rounds_table(4))).shards[0]
    publisher, wire = Publisher(store), codec(store.survey.mechanism)
    reports = store.survey.mechanism.perturb(np.array([1]), seeded(1))
    first = Batch([HOUR], [b"12345678same"], reports, np.zeros(1, dtype=np.intp), 1)
    later = Batch([HOUR], [b"87654321same"], reports, np.zeros(1, dtype=np.intp), 1)
    assert publisher.publish(first, wire) == [None]
    store.close_round(1)
    (late,) = publisher.publish(later, wire)
    assert late is not None
    assert late.code == "round-over"
    assert publisher.publish(first, wire) == [None]  # a repeat is answered as the first was


def test_durable_waits_for_the_disk(store: Shard, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int | None] = []
    answers = iter([None, 1, None, None])  # the writer's last batch on disk; None: not yet

    def on_disk(writer: str, level: str) -> int | None:
        assert (bool(writer), level) == (True, "disk")
        asked.append(next(answers))
        return asked[-1]

    monkeypatch.setattr(store, "why_not_durable", lambda level: None)
    monkeypatch.setattr(store, "durable_up_to", on_disk)
    ticks = iter(range(100))
    publisher = Publisher(store, durable="disk", deadline_s=3.5, clock=lambda: float(next(ticks)))
    assert codes(publisher, {1: 1}) == [None]
    assert len(asked) == 2
    assert codes(publisher, {2: 2}) == ["server"]  # it may be stored; the same request again will tell
    assert codes(Publisher(store), {2: 2}) == [None]
    assert counted(store) == [1, 2]


def test_reports_of_a_deleted_survey_do_not_come_back(client: redis.Redis, prefix: str) -> None:
    """The same definition registered anew has an empty ledger: that is no server which lost its last second."""
    store = buckets(client, prefix, 60).shards[0]
    publisher = Publisher(store)
    assert codes(publisher, {1: 1}) == [None]
    Registry(client, prefix).delete("buckets")
    store = buckets(client, prefix, 60).shards[0]
    publisher.check()
    assert codes(publisher, {2: 2}) == [None]
    assert counted(store) == [2]


def test_what_a_survey_that_was_registered_anew_lost_is_sent_again(client: redis.Redis, prefix: str) -> None:
    """It was deleted when nothing could be lost: the next loss must not be taken for that deletion."""
    now = [0.0]
    store = buckets(client, prefix, 60).shards[0]
    publisher = Publisher(store, clock=lambda: now[0])
    codes(publisher, {1: 1})
    now[0] = limits.RESEND_WINDOW_S + 1
    publisher.check()
    Registry(client, prefix).delete("buckets")
    store = buckets(client, prefix, 60).shards[0]
    assert codes(publisher, {2: 2}) == [None]
    tail = Tail(client)
    assert codes(publisher, {3: 3}) == [None]
    tail.lose()
    publisher.check()
    assert counted(store) == [2, 3]
