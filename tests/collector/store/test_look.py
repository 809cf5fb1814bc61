"""One look says all that a pass or a query needs to know of a shard, and asks the server once."""

import redis

from hearsay.collector.store.node import Node
from hearsay.collector.store.registry import Registry, look_at
from hearsay.collector.survey.survey import parse
from hearsay.collector.survey.windows import Whole
from hearsay.collector.writer import Writer
from tests.identity import survey_table
from tests.pipeline import buckets, cut_all, fold_all, singles
from tests.walk import Walk

ALL = Whole().named("all")


def test_one_round_trip_tells_what_was_counted_what_waits_and_what_was_merged(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    writer = Writer(store)
    writer.publish(singles(store, range(5)), 5)
    fold_all(store)
    assert store.compact(store.read("all"))
    writer.publish(singles(store, range(3)), 3)
    fold_all(store)
    writer.publish(singles(store, range(2)), 2)
    walk = Walk()
    with walk.traced():
        look = store.look()
    assert walk.trips == 1
    assert (look.totals.folded, look.totals.merged, look.waiting_reports) == (8, 5, 2)
    seen = look.at(ALL)
    assert (seen.counters["commits"], seen.version, len(seen.deltas)) == (2, 1, 1)
    assert seen.fence == client.hget(store.keys.accumulator("all"), "fence").decode()
    assert look.run_id == client.info("server")["run_id"]
    assert look.birth == client.hget(store.keys.meta, "birth").decode()
    assert look.open
    assert not look.is_final(ALL)


def test_reports_of_simulated_devices_are_counted_apart(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish(singles(store, range(5)), 5)
    assert store.publish("simulated-fleet", 1, singles(store, range(3)), 3).status == "ok"
    look = store.look()
    assert (look.published_reports, look.simulated_reports) == (8, 3)


def test_windows_that_are_known_are_named_only(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish(singles(store, range(5)), 5)
    fold_all(store)
    assert store.look(known=["another"]).windows[ALL] is not None
    look = store.look(known=["all"])
    assert dict(look.windows) == {ALL: None}
    assert look.at(ALL).counters == {}


def test_the_oldest_of_many_batches_holds_a_window_open(client: redis.Redis, prefix: str) -> None:
    """Where the clock went back, a later batch is of an earlier window: here one behind more than a page of others."""
    store = buckets(client, prefix, 10, window={"every": "1h"}).shards[0]
    Writer(store).publish(singles(store, [1]), 1)
    mark = client.lindex(store.keys.marks, 0).decode().rpartition(" ")[0]
    now_ms = store.now_ms()
    hour = store.survey.windows.of(now_ms - 3_600_000, None)
    client.rpush(store.keys.marks, *[f"{mark} {now_ms}"] * 1_500)
    assert store.is_final(hour)
    client.rpush(store.keys.marks, f"{mark} {hour.start_ms}", f"{mark} {now_ms}")
    assert not store.is_final(hour)


def test_many_surveys_are_one_round_trip_for_each_node(client: redis.Redis, prefix: str) -> None:
    registry = Registry(client, prefix)
    surveys = [registry.add(parse(survey_table("identity", 4, name=f"s{number}")), shards=2) for number in range(3)]
    look_at(surveys)
    walk = Walk()
    with walk.traced():
        looks = look_at(surveys)
    assert walk.trips == 1
    assert [(seen.survey.name, len(seen.shards)) for seen in looks] == [("s0", 2), ("s1", 2), ("s2", 2)]


def test_a_survey_that_cannot_be_looked_at_does_not_stop_the_others(client: redis.Redis, prefix: str) -> None:
    registry = Registry(client, prefix)
    surveys = [registry.add(parse(survey_table("identity", 4, name=f"s{number}"))) for number in range(3)]
    client.delete(surveys[1].shards[0].keys.windows)
    client.set(surveys[1].shards[0].keys.windows, "no set")
    client.sadd(surveys[2].shards[0].keys.windows, "no window")
    failed: dict[str, Exception] = {}
    assert [seen.survey.name for seen in look_at(surveys, failed=failed)] == ["s0"]
    assert {name: type(error) for name, error in failed.items()} == {
        "s1": redis.exceptions.ResponseError,
        "s2": ValueError,
    }


def test_a_server_that_lost_its_scripts_gets_them_again(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish(singles(store, range(5)), 5)
    client.script_flush()
    assert len(cut_all(store)) == 1  # by itself
    client.script_flush()
    replies = store.node.many([store.look_call(), store.look_call()])  # and together with others
    assert [store.look_from(reply).status.outstanding for reply in replies] == [1, 1]


def test_a_node_names_its_address_without_a_password() -> None:
    node = Node(redis.Redis.from_url("redis://someone:secret@localhost:7000/3"))  # type: ignore[arg-type]
    assert node.address == "localhost:7000/3"
