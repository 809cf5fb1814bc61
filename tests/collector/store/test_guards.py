"""Guards that nothing else needs every day: deleted surveys, lost parts, late repetitions."""

from collections.abc import Sequence

import pytest
import redis

from hearsay.collector import limits
from hearsay.collector.errors import CollectorError
from hearsay.collector.store.registry import Registry
from hearsay.collector.store.shard import Shard
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.workers.fold import fold_entries
from tests.clock import turn_clocks
from tests.pipeline import buckets, cut_all, fold, fold_all, frame, singles, state_of, watched
from tests.rounds import rounds_table, two_rounds_known

__all__ = ["two_rounds_known"]


def written(store: Shard, client: redis.Redis) -> set[bytes]:
    """Keys of the shard."""
    return set(client.keys(f"{store.keys.base}*"))


def test_a_window_of_a_deleted_survey_is_counted_nowhere(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish(singles(store, range(5)), 5)
    fold_all(store)
    client.delete(store.keys.meta)
    before = written(store, client)
    store.purge_window("all")
    assert written(store, client) == before


def test_a_deleted_survey_comes_back_by_no_script(client: redis.Redis, prefix: str) -> None:
    """Each step of a process that was in the middle of something when the survey was deleted."""
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish(singles(store, range(5)), 5)
    (found,) = cut_all(store)
    commit = fold_entries(store, found, store.entries(found), False)
    Writer(store).publish(singles(store, range(5, 10)), 5)
    kept = {key: client.dump(key) for key in written(store, client) if not key.endswith(b":meta")}
    client.delete(store.keys.meta)
    before = written(store, client)
    assert store.commit(found, commit) == "gone"
    assert store.cut(age_ms=0) == "empty"
    assert store.trim() == 0
    assert store.skip_backlog("all") == 0
    assert store.skip_range(found) == 0
    store.close()
    store.set_pressure("memory")
    store.purge_window("all")
    assert not store.put_snapshot("all", 1, b"{}", "here")
    store.close_round(1)
    store.leave("nobody")
    assert written(store, client) == before
    assert {key: client.dump(key) for key in before} == kept


def test_rounds_of_a_deleted_survey_stay_as_they_are(client: redis.Redis, prefix: str) -> None:
    store = Registry(client, prefix).add(parse(rounds_table(4))).shards[0]
    client.delete(store.keys.meta)
    assert store.close_round(1) == "gone"
    assert store.rounds().open


def test_a_round_is_closed_where_it_was_closed_first(client: redis.Redis, prefix: str) -> None:
    store = Registry(client, prefix).add(parse(rounds_table(4))).shards[0]
    assert store.close_round(1) == "ok"
    boundary = store.rounds().newest.last_entry
    client.xadd(store.keys.stream, {"r": b"\x01", "k": "1"})
    assert store.close_round(1) == "known"
    assert store.rounds().newest.last_entry == boundary


def test_two_rounds_within_a_millisecond_stay_apart(client: redis.Redis, prefix: str) -> None:
    store = Registry(client, prefix).add(parse(rounds_table(4))).shards[0]
    client.xadd(store.keys.stream, {"r": b"\x01", "k": "1"}, id="1000-1")
    store.close_round(1)
    store.open_round(2, {"chosen": [0, 1]})
    client.xadd(store.keys.stream, {"r": b"\x01", "k": "2"}, id="1000-2")
    assert [(found.window_number, found.entries) for found in cut_all(store)] == [(1, 1), (2, 1)]


def test_an_unknown_writer_leaves_nothing(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    store.leave("stranger")
    assert client.hlen(store.keys.writers) == 0


def test_a_window_that_is_over_is_cut_at_once(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = turn_clocks(monkeypatch, client)
    store = buckets(client, prefix, 10, window={"every": "1h"}).shards[0]
    Writer(store).publish(singles(store, [1]), 1)
    assert store.cut(age_ms=10**9) == "young"
    clock.turn(3_600)
    assert not isinstance(store.cut(age_ms=10**9), str)


def test_trim_spares_the_oldest_of_many_that_are_out(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RANGE_SINGLES", 2)
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish(singles(store, range(10)), 10)
    done, *out = cut_all(store)
    assert fold(store, done) == "ok"
    assert store.trim() == 2
    assert {fold(store, found) for found in reversed(out)} == {"ok"}
    assert store.trim() == 8


def test_parts_that_ran_out_are_not_committed(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PART_BYTES", 100)
    store = buckets(client, prefix, 1_000).shards[0]
    Writer(store).publish(frame(store, range(1_000)), 1_000)
    (found,) = cut_all(store)
    run = store.node.run

    def losing(name: str, keys: list[str], arguments: Sequence[object] = ()) -> object:
        if name == "commit":
            client.delete(keys[-1])
        return run(name, keys, arguments)

    commit = fold_entries(store, found, store.entries(found), False)
    monkeypatch.setattr(store.node, "run", losing)
    assert store.commit(found, commit) == "parts"
    monkeypatch.setattr(store.node, "run", run)
    assert store.range(found.seq) == found
    assert fold(store, found) == "ok"
    assert (state_of(store)["hist"] == 1).all()


def test_time_that_went_by_never_goes_back(client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = turn_clocks(monkeypatch, client)
    store = buckets(client, prefix, 10).shards[0]
    store.trim()
    seen = []
    for step in (3_600, -7_200, 1, -1, 86_400, -86_400):
        clock.turn(step)
        store.trim()
        seen.append(store.observed_ms())
    assert seen == sorted(seen)
    assert seen[-1] <= 7 * limits.LONGEST_STEP_S * 1_000


class TestReissue:
    def test_a_range_that_is_gone(self, client: redis.Redis, prefix: str) -> None:
        store = buckets(client, prefix, 10).shards[0]
        Writer(store).publish(singles(store, [1]), 1)
        (found,) = cut_all(store)
        assert fold(store, found) == "ok"
        assert store.reissue(found, 0.0)[0] == "gone"
        assert store.ranges() == []

    def test_only_one_of_two_collectors_takes_the_next_attempt(self, client: redis.Redis, prefix: str) -> None:
        store = buckets(client, prefix, 10).shards[0]
        Writer(store).publish(singles(store, [1]), 1)
        (found,) = cut_all(store)
        assert [store.reissue(found, 0.0)[0] for _ in range(2)] == ["reissued", "stale"]

    def test_what_was_put_aside_stays_so(
        self, client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "ATTEMPTS", 1)
        store = buckets(client, prefix, 10).shards[0]
        Writer(store).publish(singles(store, [1]), 1)
        (found,) = cut_all(store)
        assert store.reissue(found, 0.0)[0] == "quarantined"
        monkeypatch.setattr(limits, "ATTEMPTS", 9)
        assert store.reissue(found, 0.0)[0] == "quarantined"
        assert store.status().reissued == 0


def test_a_range_that_was_committed_is_not_skipped(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish(singles(store, [1]), 1)
    (found,) = cut_all(store)
    assert fold(store, found) == "ok"
    assert store.skip_range(found) == 0
    assert "skipped" not in store.read("all").rejected


class TestPurge:
    def test_a_window_is_kept_for_as_long_as_it_should(self, client: redis.Redis, prefix: str) -> None:
        store = buckets(client, prefix, 10).shards[0]
        Writer(store).publish(singles(store, [1]), 1)
        fold_all(store)
        assert not store.purge_window("all", retain_s=60)
        assert state_of(store)["hist"].sum() == 1
        watched(client, store, 60)
        assert store.purge_window("all", retain_s=60)
        assert state_of(store)["hist"].sum() == 0

    def test_deltas_of_other_windows_stay(self, client: redis.Redis, prefix: str) -> None:
        store = buckets(client, prefix, 10).shards[0]
        Writer(store).publish(singles(store, [1]), 1)
        fold_all(store)
        store.purge_window("another")
        assert state_of(store)["hist"].sum() == 1


def test_a_merge_notes_how_many_reports_the_accumulator_has(client: redis.Redis, prefix: str) -> None:
    store, number = buckets(client, prefix, 10).shards[0], 0
    for reports in (5, 3):
        number += reports
        Writer(store).publish(singles(store, range(reports)), reports)
        fold_all(store)
        assert store.compact(store.read("all"))
        assert store.look().totals.merged == number


def test_an_older_snapshot_is_not_shown(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    assert store.put_snapshot("all", 2, b'{"is": "new"}')
    assert not store.put_snapshot("all", 1, b'{"is": "old"}')
    assert not store.put_snapshot("all", 2, b'{"is": "again"}')
    assert store.snapshot("all") == {"is": "new"}
    assert not client.exists(store.keys.places)  # it was written nowhere


def test_a_worker_whose_entries_are_gone_says_so(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish(singles(store, range(5)), 5)
    (found,) = cut_all(store)
    client.xtrim(store.keys.stream, maxlen=0)
    with pytest.raises(CollectorError, match="must have 5 entries, got 0"):
        fold(store, found)
