"""A writer with a deadline: it says what is not stored and when to try again, and nothing is lost or stored twice."""

import socket
import threading
from typing import Any

import pytest
import redis

from hearsay.collector import limits, writer
from hearsay.collector.errors import PublishRefused, RoundClosed
from hearsay.collector.store import connect
from hearsay.collector.store.registry import Registry
from hearsay.collector.store.servers import plain
from hearsay.collector.store.shard import Published, Shard
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from tests.identity import known_to_this_process
from tests.pipeline import buckets, fold_all, singles, state_of
from tests.rounds import rounds_table, two_rounds_known

__all__ = ["known_to_this_process", "two_rounds_known"]


class Unreliable:
    """A shard whose next calls fail: `lost` ones before the server has them, `unheard` ones after."""

    def __init__(self, shard: Shard) -> None:
        self._shard, self.lost, self.unheard = shard, 0, 0

    def publish(self, *arguments: Any) -> Published:
        if self.lost:
            self.lost -= 1
            raise redis.exceptions.ConnectionError
        answer = self._shard.publish(*arguments)
        if self.unheard and arguments[1]:  # a greeting stores nothing
            self.unheard -= 1
            raise redis.exceptions.TimeoutError
        return answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shard, name)


@pytest.fixture
def store(client: redis.Redis, prefix: str) -> Shard:
    return buckets(client, prefix, 40).shards[0]


def each_once(store: Shard, count: int) -> bool:
    fold_all(store)
    return state_of(store)["hist"].tolist() == [1] * count + [0] * (40 - count)


def test_plain_reports_are_refused_with_what_to_write(client: redis.Redis, store: Shard) -> None:
    with pytest.raises(TypeError, match=r'pairs of field and payload, such as \(b"r", report\)'):
        Writer(store).publish([b"x", b"y"], 2)  # type: ignore[list-item]
    assert client.xlen(store.keys.stream) == 0


def test_under_pressure_all_is_given_back(store: Shard) -> None:
    patient = Writer(store)
    store.set_pressure("deltas")
    for _ in range(2):
        with pytest.raises(PublishRefused, match=r"because of deltas; try again in 0\.1 s") as refused:
            patient.publish(singles(store, range(5)), 5, deadline_s=0)
        refusal = refused.value
        assert (refusal.cause, refusal.code, refusal.entries, refusal.unsure) == ("deltas", "pressure", 5, 0)
        assert refusal.retry_after_s == pytest.approx(2 * writer.FIRST_PAUSE_S)
    store.set_pressure(None)
    patient.publish(singles(store, range(5)), 5, deadline_s=0)
    patient.check()
    assert each_once(store, 5)


def test_a_deadline_is_waited_for(store: Shard) -> None:
    causes: list[str] = []
    patient = Writer(store, on_wait=lambda cause: (causes.append(cause), store.set_pressure(None))[0])
    store.set_pressure("memory")
    patient.publish(singles(store, range(5)), 5, deadline_s=5)
    assert causes == ["memory"]
    assert each_once(store, 5)


def test_only_what_is_not_stored_is_given_back(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "PUBLISH_ENTRIES", 4)
    monkeypatch.setattr(limits, "BACKLOG_ENTRIES", 6)
    small = buckets(client, prefix, 40).shards[0]  # limits are taken when a shard is opened
    entries = singles(small, range(14))
    patient = Writer(small)
    with pytest.raises(PublishRefused) as refused:
        patient.publish(entries, 14, deadline_s=0)
    assert (refused.value.cause, refused.value.entries, refused.value.unsure) == ("backlog", 6, 0)
    fold_all(small)
    small.trim()
    patient.publish(entries[-6:], 6, deadline_s=0)
    assert each_once(small, 14)


def test_what_was_sent_without_an_answer_is_settled_by_the_writer(store: Shard) -> None:
    shard = Unreliable(store)
    patient = Writer(shard)  # type: ignore[arg-type]
    shard.unheard = 1
    with pytest.raises(PublishRefused) as refused:
        patient.publish(singles(store, range(5)), 5, deadline_s=0)
    assert (refused.value.code, refused.value.entries, refused.value.unsure) == ("server", 0, 5)
    shard.lost = 1  # and again: the new ones were never sent, so they are given back
    with pytest.raises(PublishRefused) as refused:
        patient.publish(singles(store, range(5, 8)), 3, deadline_s=0)
    assert (refused.value.entries, refused.value.unsure) == (3, 0)
    patient.publish(singles(store, range(5, 8)), 3, deadline_s=0)
    assert each_once(store, 8)


def test_what_never_arrived_is_sent_again_under_the_same_number(store: Shard) -> None:
    shard = Unreliable(store)
    patient = Writer(shard)  # type: ignore[arg-type]
    patient.publish(singles(store, [0]), 1)
    shard.lost = 1
    with pytest.raises(PublishRefused) as refused:
        patient.publish(singles(store, [1]), 1, deadline_s=0)
    assert refused.value.unsure == 1
    store.set_pressure("deltas")  # an answer that it is not stored, and still a late copy may come
    with pytest.raises(PublishRefused):
        patient.check(deadline_s=0)
    store.set_pressure(None)
    patient.publish(singles(store, [2]), 1)
    assert each_once(store, 3)


def test_an_end_in_pressure_can_be_repeated(store: Shard) -> None:
    shard = Unreliable(store)
    patient = Writer(shard)  # type: ignore[arg-type]
    patient.publish(singles(store, [0]), 1)
    shard.lost = 1
    with pytest.raises(PublishRefused):
        patient.close(deadline_s=0)
    patient.close(deadline_s=0)
    assert each_once(store, 1)


def test_a_writer_that_is_stopped_says_so(store: Shard) -> None:
    stop = threading.Event()
    stop.set()
    store.set_pressure("deltas")
    with pytest.raises(PublishRefused) as refused:
        Writer(store, stop=stop).publish(singles(store, [0]), 1)
    assert (refused.value.cause, refused.value.code, refused.value.retry_after_s) == ("stopped", "stopped", None)


def test_a_round_that_ends_meanwhile_takes_the_unsure_ones_with_it(client: redis.Redis, prefix: str) -> None:
    registered = Registry(client, prefix).add(parse(rounds_table(6)))
    store = registered.shards[0]
    shard = Unreliable(store)
    patient = Writer(shard)  # type: ignore[arg-type]
    patient.publish([(b"r", b"\x91\x05")], 1, 1)
    shard.lost = 1
    with pytest.raises(PublishRefused) as refused:
        patient.publish([(b"r", b"\x91\x05")], 1, 1, deadline_s=0)
    assert refused.value.unsure == 1
    store.close_round(1)
    store.open_round(2, {})
    patient.publish([(b"r", b"\x91\x05")], 1, 2, deadline_s=0)  # not refused for what was given up before
    with pytest.raises(RoundClosed) as late:
        patient.publish([(b"r", b"\x91\x05")], 1, 1, deadline_s=0)
    assert late.value.entries == 1
    assert client.xlen(store.keys.stream) == 2


def test_a_server_that_never_answers_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "REPLY_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = connect.connect(f"redis://127.0.0.1:{silent.getsockname()[1]}", check=False)
        with pytest.raises(redis.exceptions.TimeoutError):
            client.ping()


def test_a_late_copy_of_a_refused_batch_does_no_harm(store: Shard) -> None:
    """It was sent without an answer, then refused: what was on its way may still arrive."""
    shard = Unreliable(store)
    patient = Writer(shard)  # type: ignore[arg-type]
    patient.publish(singles(store, [0]), 1)
    store.set_pressure("deltas")
    shard.lost = 1
    with pytest.raises(PublishRefused) as refused:
        patient.publish(singles(store, [1]), 1, deadline_s=0.001)
    assert (refused.value.cause, refused.value.entries, refused.value.unsure) == ("deltas", 0, 1)
    store.set_pressure(None)
    assert store.publish(patient.identity, 2, singles(store, [1]), 1).status == "ok"
    patient.publish(singles(store, [2]), 1)
    assert each_once(store, 3)
