"""CUT by marks: a batch is cut without being read, and what has no mark is still found."""

import time

import pytest
import redis

from hearsay.collector import limits
from hearsay.collector.errors import CollectorError
from hearsay.collector.store.connect import connect
from hearsay.collector.store.ranges import Range
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.ops.server.embedded import EmbeddedServer
from tests.pipeline import buckets, cut_all, fold, fold_all, frame, singles, state_of
from tests.rounds import rounds_table, two_rounds_known

__all__ = ["two_rounds_known"]


def entries_read(client: redis.Redis) -> int:
    """Calls of XRANGE, the only way to read a stream."""
    return int(client.info("commandstats").get("cmdstat_xrange", {}).get("calls", 0))


def test_many_narrow_entries_before_wide_ones_are_not_read_at_once(own_server: EmbeddedServer) -> None:
    client = connect(own_server.url)
    store = buckets(client, "hs", 10).shards[0]
    Writer(store).publish([(b"r", b"\x01")] * 5_000, 5_000)
    for number in range(1, 161):
        store.publish("w", number, [(b"f", bytes(limits.MIB))], 1)
    started = time.perf_counter()
    found = cut_all(store)
    assert sum(each.entries for each in found) == 5_160
    assert all(each.size <= limits.RANGE_BYTES for each in found)
    assert time.perf_counter() - started < 1.0
    memory = client.info("memory")
    assert memory["used_memory_peak"] - memory["used_memory"] < 16 * limits.MIB  # 160 wait


def test_marked_entries_are_not_read(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 1_000).shards[0]
    Writer(store).publish(singles(store, range(1_000)), 1_000)
    before = entries_read(client)
    assert len(cut_all(store)) == 1
    assert entries_read(client) - before <= 5  # looks between batches, not one of which finds an entry
    fold_all(store)


def test_entries_without_a_mark_are_found_wherever_they_stand(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 30).shards[0]
    writer = Writer(store)
    for start in (0, 10, 20):
        ((name, payload),) = singles(store, [start])
        client.xadd(store.keys.stream, {name: payload})
        writer.publish(singles(store, range(start + 1, start + 9)), 8)
        ((name, payload),) = singles(store, [start + 9])
        client.xadd(store.keys.stream, {name: payload})
    assert store.status().backlog_entries == 24  # strays are counted when they are cut
    fold_all(store)
    assert (state_of(store)["hist"] == 1).all()
    seen = store.status()
    assert (seen.backlog_entries, seen.backlog_age_s, seen.published_entries) == (0, 0.0, 30)
    assert client.llen(store.keys.marks) == 0


def test_a_stray_entry_alone_is_cut_when_it_is_old(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 3).shards[0]
    client.xadd(store.keys.stream, dict(singles(store, [1])))
    assert store.cut(age_ms=60_000) == "young"
    fold_all(store)
    assert state_of(store)["hist"].tolist() == [0, 1, 0]
    assert store.status().backlog_entries == 0


@pytest.mark.parametrize("kinds", ["singles", "frames", "both"])
def test_a_batch_larger_than_a_range_is_cut_in_pieces(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch, kinds: str
) -> None:
    monkeypatch.setattr(limits, "RANGE_SINGLES", 7)
    monkeypatch.setattr(limits, "RANGE_FRAMES", 3)
    store = buckets(client, prefix, 40).shards[0]
    entries = {
        "singles": singles(store, range(40)),
        "frames": [frame(store, range(start, start + 4))[0] for start in range(0, 40, 4)],
        "both": singles(store, range(20)) + [frame(store, range(start, start + 4))[0] for start in range(20, 40, 4)],
    }[kinds]
    store.publish("w", 1, entries, 40)
    found = cut_all(store)
    assert sum(each.entries for each in found) == len(entries)
    assert len(found) > 3
    for each in found:
        assert each.size == sum(len(b"".join(fields.values())) for _, fields in store.entries(each))
    assert client.llen(store.keys.marks) == 0
    assert store.status().backlog_entries == 0


def test_pieces_of_a_batch_count_as_waiting_until_they_are_cut(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RANGE_SINGLES", 4)
    store = buckets(client, prefix, 10).shards[0]
    store.publish("w", 1, singles(store, range(10)), 10)
    assert isinstance(store.cut(), Range)
    assert store.status().backlog_entries == 6
    fold_all(store)
    assert store.cut() == "empty"


def test_skipping_the_backlog_leaves_no_mark(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    writer = Writer(store)
    writer.publish(singles(store, range(5)), 5)
    assert store.skip_backlog("all") == 5
    writer.publish(singles(store, range(5, 10)), 5)
    fold_all(store)
    assert state_of(store)["hist"].tolist() == [0] * 5 + [1] * 5
    assert store.status().backlog_entries == 0


def test_entries_without_a_mark_never_share_a_range_across_windows(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10, window={"every": "1h"}).shards[0]
    for hour in (1, 1, 2, 3):
        client.xadd(store.keys.stream, dict(singles(store, [hour])), id=f"{hour * 3_600_000}-*")
    found = cut_all(store)
    assert [(each.window_number // 3_600_000, each.entries) for each in found] == [(1, 2), (2, 1), (3, 1)]


def test_many_entries_that_fill_no_range_are_young_all_the_same(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By their number they could fill one, and so they are looked at; by their weight they do not."""
    monkeypatch.setattr(limits, "RANGE_FRAMES", 4)
    monkeypatch.setattr(limits, "RANGE_SINGLES", 100)
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish([*frame(store, [0]), *singles(store, range(1, 9))], 9)
    assert store.cut(age_ms=60_000) == "young"
    assert isinstance(store.cut(age_ms=0), Range)


def test_pieces_of_a_batch_in_a_round_weigh_what_was_published(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The round stands beside each report, and is no part of it: else more bytes would go out than came in."""
    monkeypatch.setattr(limits, "RANGE_SINGLES", 2)
    store = Registry(client, prefix).add(parse(rounds_table(8))).shards[0]
    store.publish("w", 1, [(b"r", b"\x91\x01")] * 5, 5, 1)
    assert [found.entries for found in cut_all(store)] == [2, 2, 1]
    assert client.hget(store.keys.cursor, "bytes") == client.hget(store.keys.published, "bytes_in") == b"10"


def test_a_large_batch_of_which_little_is_left_is_cut_as_what_it_is(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody deleted entries by hand, and what is left fits into a range."""
    monkeypatch.setattr(limits, "RANGE_SINGLES", 2)
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish(singles(store, range(5)), 5)
    client.xdel(store.keys.stream, *(entry for entry, _ in client.xrange(store.keys.stream)[1:]))
    Writer(store).publish(singles(store, [7]), 1)
    fold_all(store)
    assert state_of(store)["hist"].nonzero()[0].tolist() == [0, 7]
    assert client.llen(store.keys.marks) == 0


def test_a_large_batch_of_which_nothing_is_left_shows(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It becomes a range that cannot be folded, instead of passing for empty."""
    monkeypatch.setattr(limits, "RANGE_SINGLES", 2)
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish(singles(store, range(5)), 5)
    client.xdel(store.keys.stream, *(entry for entry, _ in client.xrange(store.keys.stream)))
    (found,) = cut_all(store)
    assert found.entries == 5
    with pytest.raises(CollectorError, match="must have 5 entries, got 0"):
        fold(store, found)
