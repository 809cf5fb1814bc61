"""One reading per process: fetched once, shared by all, never more than fits."""

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest
import redis

from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.store.shard import Shard
from hearsay.estimator.live import Live
from hearsay.estimator.readings import Readings, live
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.questions import answer, parse_text
from tests.estimator.surveys import colours, deliver, state_of
from tests.pipeline import Tail
from tests.walk import ACCUMULATOR, Walk

HOUR_MS = 3_600_000
LONG_AGO = 1_738_328_400_000


def test_an_estimate_is_made_once_until_something_changes(registry: Registry) -> None:
    registered, readings = registry.add(colours()), Readings()
    deliver(registered, 200, seed=1)
    first = readings.live(registered)
    assert readings.live(registered).sum is first.sum
    assert readings.live(registered).estimate() is first.estimate()
    deliver(registered, 50, seed=2)
    assert readings.live(registered).estimate().reports == 250


def test_a_sum_does_not_change_when_its_reading_does(registry: Registry) -> None:
    """An estimate may keep views of the state; a reading is brought up to date in place."""
    registered, readings = registry.add(colours()), Readings()
    deliver(registered, 200, seed=1)
    before = readings.live(registered)
    deliver(registered, 50, seed=2)
    readings.live(registered)
    assert np.array_equal(before.state["sum"], state_of(colours(), 200, 1)["sum"])


def test_only_new_deltas_are_fetched(registry: Registry) -> None:
    registered, readings = registry.add(colours(domain={"kind": "categorical", "size": 1 << 14})), Readings()
    store = registered.shards[0]
    deliver(registered, 200, seed=1)
    assert store.compact(store.read("all"))
    first = Walk()
    with first.traced():
        readings.live(registered)
    assert any(ACCUMULATOR in command for command in first.commands)
    deliver(registered, 50, seed=2)
    second = Walk()
    with second.traced():
        current = readings.live(registered)
    assert not any(ACCUMULATOR in command for command in second.commands)
    assert second.trips == 2  # a look, and the new delta
    assert current.sum.reports == 250


def test_what_has_changed_is_let_go(registry: Registry) -> None:
    """A survey that is asked while reports stream in must not pile up estimates of its past."""
    registered, readings, past = registry.add(colours()), Readings(), []
    for seed in range(5):
        deliver(registered, 100, seed=seed)
        past.append(weakref.ref(readings.live(registered).estimate()))
    gc.collect()
    assert [reference() is not None for reference in past] == [False] * 4 + [True]


def test_only_as_many_sums_as_fit_are_kept(registry: Registry) -> None:
    surveys = [registry.add(colours(name=f"colours-{number}")) for number in range(4)]
    for registered in surveys:
        deliver(registered, 100)
    for readings in (Readings(sums=2), Readings(cells=7)):  # each has three cells
        made = [readings.live(registered).sum for registered in surveys]
        kept = [readings.live(registered).sum is old for registered, old in zip(surveys[2:], made[2:], strict=True)]
        assert kept == [True, True]
        assert readings.live(surveys[0]).sum is not made[0]
    tiny = Readings(cells=1)
    assert tiny.live(surveys[0]).sum is tiny.live(surveys[0]).sum, "the last one is kept, however large"


def test_an_answer_is_withheld_until_there_are_enough(registry: Registry) -> None:
    registered, readings = registry.add(colours(answers={"minimum_reports": 150}, window={"every": "1h"})), Readings()
    for hour in range(2):
        deliver(registered, 100, seed=hour, at_ms=LONG_AGO + hour * HOUR_MS)
    with pytest.raises(QueryError, match="withheld"):
        readings.live(registered)
    deliver(registered, 100, seed=3, at_ms=LONG_AGO + 5 * HOUR_MS)
    deliver(registered, 100, seed=4, at_ms=LONG_AGO + 5 * HOUR_MS + 1)
    assert readings.live(registered).sum.reports == 200


class TestFinalWindows:
    @pytest.fixture
    def hourly(self, registry: Registry) -> Registered:
        registered = registry.add(colours(window={"every": "1h"}))
        for hour in range(3):
            deliver(registered, 100 + hour, seed=hour, at_ms=LONG_AGO + hour * HOUR_MS)
        return registered

    def test_they_are_read_once(self, hourly: Registered, monkeypatch: pytest.MonkeyPatch) -> None:
        readings, read = Readings(), []
        real = Shard.add_to

        def noted(shard: Shard, vector: Any, window: str, *more: Any, own: bool) -> Any:
            read.append(window)
            return real(shard, vector, window, *more, own=own)

        monkeypatch.setattr(Shard, "add_to", noted)
        assert readings.live(hourly).sum.reports == 303
        assert len(read) == 3
        deliver(hourly, 50, seed=9)  # of this hour
        read.clear()
        assert readings.live(hourly).sum.reports == 353
        assert len(read) == 1

    def test_one_more_adds_to_those_that_are_known(self, hourly: Registered) -> None:
        readings = Readings()
        first = readings.live(hourly, "last:2").state["sum"].copy()
        deliver(hourly, 50, seed=9)
        second = readings.live(hourly, "last:2").state["sum"]
        assert not np.array_equal(first, second)
        expected = state_of(colours(), 102, 2)["sum"] + state_of(colours(), 50, 9)["sum"]
        assert np.array_equal(second, expected)


def test_a_server_that_lost_its_tail_is_read_anew(registry: Registry, client: redis.Redis) -> None:
    registered, readings = registry.add(colours()), Readings()
    deliver(registered, 200, seed=1)
    before = Tail(client)
    deliver(registered, 50, seed=2)
    assert readings.live(registered).sum.reports == 250
    before.lose()
    assert readings.live(registered).sum.reports == 200
    deliver(registered, 70, seed=3)
    assert readings.live(registered).sum.reports == 270


def test_a_survey_deleted_and_added_again_begins_with_nothing(registry: Registry) -> None:
    registered, readings = registry.add(colours()), Readings()
    deliver(registered, 200, seed=1)
    readings.live(registered)
    registry.delete("colours")
    again = registry.add(colours())
    assert readings.live(again).sum.reports == 0
    deliver(again, 70, seed=3)
    assert readings.live(again).sum.reports == 70


def test_an_older_look_gets_what_was_read_since(registry: Registry) -> None:
    """The pass looks at all surveys first; a query that comes in between has read more."""
    registered, readings = registry.add(colours()), Readings()
    deliver(registered, 200, seed=1)
    older = registered.look()
    deliver(registered, 50, seed=2)
    newest = readings.live(registered)
    walk = Walk()
    with walk.traced():
        current = readings.live(registered, seen=older)
    assert current.sum is newest.sum
    assert walk.trips == 0


def test_many_who_ask_at_once_share_one_estimate(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    registered, readings = registry.add(colours()), Readings()
    deliver(registered, 200, seed=1)
    made, answers = [], []
    mechanism = type(registered.survey.mechanism)
    real = mechanism.estimate

    def slow(self: Any, state: Any) -> Any:
        made.append(1)
        threading.Event().wait(0.05)
        return real(self, state)

    monkeypatch.setattr(mechanism, "estimate", slow)

    def ask() -> None:
        current: Live = readings.live(registered)
        answers.append(current.estimate())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert len({id(each) for each in answers}) == 1


def test_windows_of_memoised_devices_err_together(registry: Registry) -> None:
    hour_ms = 3_600_000
    errors = {}
    for repeat in ("memoised", "every-window"):
        survey = colours(name=repeat, window={"every": "1h"}, participation={"repeat": repeat})
        registered = registry.add(survey)
        for hour in range(4):
            deliver(registered, 200, seed=hour, at_ms=1_738_328_400_000 + hour * hour_ms)
        errors[repeat] = answer(parse_text("point red"), live(registered).estimate())[0].stderr
    assert errors["memoised"] == pytest.approx(2 * errors["every-window"])
