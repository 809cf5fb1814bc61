"""Rounds, driven from the first report to the last answer, with every step repeated and every process doubled."""

from pathlib import Path

import numpy as np
import pytest
import redis

from hearsay.collector.errors import OfferRefused, RoundClosed, SurveyClosed, SurveyError
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.collector.writer import Writer
from hearsay.estimator.materialise import Materialiser
from hearsay.estimator.open_survey import OpenSurvey
from hearsay.estimator.readings import live
from hearsay.estimator.rounds import RoundState, drive
from hearsay.estimator.snapshots import loading
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.producer import Device
from hearsay.producer.fleet import Fleet
from hearsay.workers.context import Context, set_current
from tests.pipeline import cut_all, fold, fold_all, watched
from tests.rounds import rounds_table, two_rounds_known

__all__ = ["two_rounds_known"]
VALUES = np.array([5] * 40 + [2] * 30 + [7] * 20 + [0] * 10)


def turns(client: redis.Redis, prefix: str, shards: int = 1, **rounds: object) -> Registered:
    set_current(Context(client, prefix))
    return Registry(client, prefix).add(parse(rounds_table(8, **rounds)), shards)


def publish(registered: Registered, values: np.ndarray, round_number: int, shard: int = 0) -> None:
    """Single reports as the devices of this round make them."""
    history = registered.look().rounds.history(round_number)
    mechanism = registered.survey.in_round(history).mechanism
    payloads = codec(mechanism).encode_singles(mechanism.perturb(values, seeded(1)))
    Writer(registered.shards[shard]).publish([(b"r", each) for each in payloads], len(values), round_number)


def everything_folded(registered: Registered) -> None:
    for store in registered.shards:
        fold_all(store)


def test_two_rounds_from_the_first_report_to_the_last_answer(client: redis.Redis, prefix: str, tmp_path: Path) -> None:
    registered = turns(client, prefix, shards=2, reports=150)
    estimators = [Materialiser(Registry(client, prefix), tmp_path), Materialiser(Registry(client, prefix), tmp_path)]
    for shard in range(2):
        publish(registered, VALUES, 1, shard)
        publish(registered, VALUES[:10], 1, shard)
    assert drive(registered) == RoundState(1, "draining")
    with pytest.raises(RoundClosed, match="round 1 of survey turns"):
        publish(registered, VALUES, 1)
    everything_folded(registered)
    for each in estimators:
        each.run_once()
    assert [store.rounds().number for store in registered.shards] == [2, 2]
    assert registered.look().rounds.newest.parameters == {"chosen": [5, 2, 7, 0]}
    publish(registered, VALUES, 2, 0)
    publish(registered, VALUES, 2, 1)
    everything_folded(registered)
    for each in estimators:
        each.run_once()
    assert registered.look().closed
    assert [window.name for window in registered.look().windows] == ["r1", "r2"]
    found = live(registered)
    assert found.final
    assert found.state["r1/hist"].tolist() == [20, 0, 60, 0, 0, 100, 0, 40]
    assert found.state["r2/places"].tolist() == [80, 60, 40, 20, 0]
    assert found.estimate().estimate[5] == pytest.approx(80 / 420)
    for each in estimators:
        each.run_once()
    first, second = (loading.load(tmp_path / "turns" / name) for name in ("r1", "r2"))
    assert [(each.metadata["reports"], each.metadata["status"]) for each in (first, second)] == [
        (220, "final"),
        (420, "final"),
    ]
    assert second.estimate().estimate.tolist() == found.estimate().estimate.tolist()
    assert second.metadata["rounds"] == [{"chosen": [5, 2, 7, 0]}]


def test_every_step_may_be_repeated_and_is_fenced_by_the_round(client: redis.Redis, prefix: str) -> None:
    registered = turns(client, prefix)
    store = registered.shards[0]
    assert store.open_round(1, {"other": 1}) == "known"
    assert store.open_round(2, {}) == "stale"  # the first one is still open
    assert store.close_round(2) == "stale"
    publish(registered, VALUES, 1)
    assert (store.close_round(1), store.close_round(1)) == ("ok", "known")
    boundary = store.rounds().newest.last_entry
    assert store.open_round(3, {}) == "stale"
    assert (store.open_round(2, {"a": 1}), store.open_round(2, {"a": 2})) == ("ok", "known")
    held = store.rounds()
    assert (held.number, held.open, held.newest.parameters, held.rounds[0].last_entry) == (2, True, {"a": 1}, boundary)
    assert held.history(1) == ()
    assert held.history(2) == ({"a": 1},)
    assert store.close_round(1) == "stale"


def test_a_driver_that_died_between_two_shards_is_replaced(client: redis.Redis, prefix: str) -> None:
    registered = turns(client, prefix, shards=3)
    publish(registered, VALUES, 1)
    registered.shards[1].close_round(1)  # and died
    everything_folded(registered)
    open_after = drive(registered)
    assert open_after == RoundState(2, "open")
    assert [store.rounds().number for store in registered.shards] == [2, 2, 2]


def test_what_the_first_shard_was_told_is_what_all_are_told(client: redis.Redis, prefix: str) -> None:
    registered = turns(client, prefix, shards=2)
    for store in registered.shards:
        store.close_round(1)
    registered.shards[0].open_round(2, {"chosen": [1, 2, 3, 4]})
    assert drive(registered) == RoundState(2, "open")
    assert registered.shards[1].rounds().newest.parameters == {"chosen": [1, 2, 3, 4]}


def test_ranges_never_cross_a_round_and_a_closed_round_is_cut_at_once(client: redis.Redis, prefix: str) -> None:
    registered = turns(client, prefix)
    store = registered.shards[0]
    publish(registered, VALUES, 1)
    assert store.cut(age_ms=60_000) == "young"
    store.close_round(1)
    first = store.cut(age_ms=60_000)
    assert not isinstance(first, str)
    store.open_round(2, {"chosen": [5, 2, 7, 0]})
    publish(registered, VALUES[:5], 2)
    publish(registered, VALUES[:5], 2)
    (second,) = cut_all(store)
    assert [(found.entries, found.window(store.survey.windows).name) for found in (first, second)] == [
        (100, "r1"),
        (10, "r2"),
    ]
    window = store.survey.windows.named("r1")
    assert not store.is_final(window)
    assert fold(store, first) == "ok"
    assert store.is_final(window)
    assert not store.is_final(store.survey.windows.named("r2"))


def test_both_rounds_behind_the_cursor_are_cut_apart(client: redis.Redis, prefix: str) -> None:
    registered = turns(client, prefix)
    store = registered.shards[0]
    publish(registered, VALUES[:7], 1)
    store.close_round(1)
    store.open_round(2, {"chosen": [5, 2, 7, 0]})
    publish(registered, VALUES[:9], 2)
    assert [(found.entries, found.window_number) for found in cut_all(store)] == [(7, 1), (9, 2)]


def test_entries_of_another_round_are_refused_by_reason(client: redis.Redis, prefix: str) -> None:
    registered = turns(client, prefix)
    store = registered.shards[0]
    for fields in ({"r": b"\x05"}, {"r": b"\x05", "k": "2"}, {"r": b"\x05", "k": "one"}, {"k": "1", "r": b"\x05"}):
        client.xadd(store.keys.stream, fields)
    client.xadd(store.keys.stream, {"r": b"\x05", "k": "1", "x": "1"})
    fold_all(store)
    store.close_round(1)
    client.xadd(store.keys.stream, {"r": b"\x05", "k": "1"})  # late, and no round is open
    client.xadd(store.keys.stream, {"r": b"\x00", "k": "2"})  # of a round that is not open yet
    fold_all(store)
    store.open_round(2, {"chosen": [5, 2, 7, 0]})
    client.xadd(store.keys.stream, {"r": b"\x05", "k": "1"})  # late
    client.xadd(store.keys.stream, {"r": b"\x00", "k": "2"})
    fold_all(store)
    found = live(registered)
    assert found.state["r1/hist"].tolist() == [0, 0, 0, 0, 0, 1, 0, 0]
    assert found.state["r2/places"].tolist() == [1, 0, 0, 0, 0]
    assert found.rejected.table() == {
        "late-round": {"entries": 2, "reports": 2},
        "unknown-field": {"entries": 1, "reports": 0},
        "wrong-round": {"entries": 4, "reports": 4},
    }


def test_a_survey_without_rounds_refuses_them(client: redis.Redis, prefix: str) -> None:
    set_current(Context(client, prefix))
    survey = parse({"name": "a", "mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 8}})
    store = Registry(client, prefix).add(survey).shards[0]
    client.xadd(store.keys.stream, {"r": b"\x05", "k": "1"})
    fold_all(store)
    assert store.status().round == 0
    assert drive(Registry(client, prefix).get("a")) is None
    assert client.hget(store.keys.counters("all"), "rejected:unknown-field:entries") == b"1"


def test_a_fleet_takes_part_in_every_round_and_loses_nobody(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hearsay.collector.writer.PUBLISH_ENTRIES", 10)
    registered = turns(client, prefix)
    fleet = Fleet(registered, seeded(1), frame=None)
    publish = registered.shards[0].publish

    def closing(*words: object) -> object:
        if words[1] == 4 and registered.look().rounds.number == 1:  # in the middle of a batch
            registered.shards[0].close_round(1)
            everything_folded(registered)
            drive(registered)
        return publish(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(registered.shards[0], "publish", closing)

    class People:
        def take(self, count: int) -> np.ndarray:
            return VALUES[:count]

    fleet.run(People(), 100)
    everything_folded(registered)
    state = live(registered).state
    assert state["r1/hist"].sum() == 30
    assert state["r2/places"].sum() == 70


def films(client: redis.Redis, prefix: str, name: str = "films", **options: object) -> Registered:
    set_current(Context(client, prefix))
    domain = {"kind": "key-value", "keys": 3}
    given = {"rounds": 2, **options}
    answers = {"minimum_reports": 50}
    table = {
        "name": name,
        "mechanism": "privkvm",
        "epsilon": 2.0,
        "domain": domain,
        "options": given,
        "answers": answers,
    }
    return Registry(client, prefix).add(parse(table))


def test_devices_get_the_open_round_and_answer_it(client: redis.Redis, prefix: str) -> None:
    registered = films(client, prefix)
    opened = OpenSurvey(registered, Registry(client, prefix))
    devices = [Device(registered.survey, seeded(number)) for number in range(30)]  # other draws may leave no doubt
    writer = opened.writer()
    for number in (1, 2):
        for device in devices:
            device.publish({"0": 0.5}, writer, opened.offer())
        assert {device.answered for device in devices} == {number}
        with pytest.raises(OfferRefused, match=f"must be after round {number}"):
            devices[0].publish({"0": 0.5}, writer, opened.offer())
        if number == 2:
            assert len({opened.offer()["parameters"]["signs"] for _ in range(60)}) > 1  # drawn afresh
        registered.shards[0].close_round(number)
        assert opened.offer() is None
        everything_folded(registered)
        drive(registered)
    with pytest.raises(SurveyClosed, match="survey films is closed and takes no more reports"):
        opened.offer()
    assert [int(array.sum()) for array in live(registered).state.values()] == [30, 30]
    assert len(opened.ask("frequencies")) == 3  # of 60 reports, though of 30 devices


def test_one_document_for_all_where_the_means_are_disclosed(client: redis.Redis, prefix: str) -> None:
    registered = films(client, prefix, disclose="means")
    drive(registered, close=1)
    opened = OpenSurvey(registered, Registry(client, prefix))
    assert (
        opened.offer()
        == opened.offer()
        == {
            "tag": registered.survey.tag,
            "round": 2,
            "parameters": {"means": [0, 0, 0]},
        }
    )


def test_two_surveys_go_through_their_rounds_side_by_side(client: redis.Redis, prefix: str, tmp_path: Path) -> None:
    quick, slow = turns(client, prefix, shards=2, reports=100), films(client, prefix)
    estimator = Materialiser(Registry(client, prefix), tmp_path)
    publish(quick, VALUES, 1)
    Device(slow.survey).publish({"1": -1}, Writer(slow.shards[0]))
    for _ in range(2):  # closes, then opens what is folded
        everything_folded(quick)
        everything_folded(slow)
        estimator.run_once()
    assert (quick.look().rounds.number, slow.look().rounds.number) == (2, 1)
    drive(slow, close=1)
    assert (quick.look().rounds.number, slow.look().rounds.number) == (2, 2)
    publish(quick, VALUES[:5], 2, 1)
    everything_folded(quick)
    assert live(quick).state["r2/places"].sum() == 5
    assert live(slow).state["r1/counts"].sum() == 1


def test_a_sum_of_the_last_rounds_makes_no_sense_and_says_so(client: redis.Redis, prefix: str) -> None:
    registered = turns(client, prefix)
    publish(registered, VALUES, 1)
    everything_folded(registered)
    assert live(registered, "r1").state["r1/hist"].sum() == live(registered, "all").state["r1/hist"].sum() == 100
    for window in ("last:1", "r2", "r0"):
        with pytest.raises(QueryError, match=f"window must be all or a round with reports .newest: r1., got {window}"):
            live(registered, window)


def test_a_round_that_is_over_meanwhile_is_not_closed_in_the_name_of_another(client: redis.Redis, prefix: str) -> None:
    registered = turns(client, prefix)
    assert drive(registered, close=1) == RoundState(2, "open")
    assert drive(registered, close=1) == RoundState(2, "open")  # somebody else was quicker: round 2 stays open
    assert drive(registered, close=2) == RoundState(2, "over")
    assert drive(registered, close=2) == RoundState(2, "over")


def test_a_round_closes_by_time_too(client: redis.Redis, prefix: str) -> None:
    registered = turns(client, prefix, within="1h")
    assert drive(registered) == RoundState(1, "open")
    store = registered.shards[0]
    watched(client, store, 3_600)
    assert drive(registered) == RoundState(2, "open")  # nothing to drain


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"window": {"every": "1h"}, "rounds": {"reports": 5}}, "window and rounds exclude each other"),
        ({"window": {"every": "1h"}}, "window and rounds exclude each other"),
        ({"rounds": {"reports": 0}}, "rounds.reports"),
        ({"rounds": {"within": "soon"}}, "rounds.within must be a number"),
        ({"rounds": {"number": 2}}, "rounds has the unknown key 'number'; allowed: reports, within"),
        ({"rounds": {"reports": 5}, "mechanism": "identity"}, "rounds must be left out for mechanism identity"),
    ],
)
def test_what_a_survey_file_may_not_say(more: dict[str, object], message: str) -> None:
    with pytest.raises(SurveyError, match=message):
        parse({**rounds_table(8), **more})


def test_the_canonical_form_has_the_rounds() -> None:
    survey = parse(rounds_table(8, reports=100, within="1h"))
    assert survey.canonical()["rounds"] == {"reports": 100, "within": "1h"}
    assert parse(survey.canonical()).tag == survey.tag
    assert parse(rounds_table(8, reports=101, within="1h")).tag != survey.tag
    assert survey.in_round([{"chosen": [1, 2, 3, 4]}]).tag == survey.tag


def test_the_last_rounds_alone_are_no_window(client: redis.Redis, prefix: str) -> None:
    registered = turns(client, prefix)
    publish(registered, VALUES, 1)
    everything_folded(registered)
    with pytest.raises(QueryError, match=r"^window must be all or a round with reports \(newest: r1\), got last:1$"):
        live(registered, "last:1")
    assert live(registered, "r1").estimate().reports == len(VALUES)
