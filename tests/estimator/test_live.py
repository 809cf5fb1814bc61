import numpy as np
import pytest

from hearsay.collector.store.registry import Registered, Registry
from hearsay.estimator.readings import live
from hearsay.mechanisms import merge
from hearsay.mechanisms.errors import QueryError
from tests.estimator.surveys import colours, deliver, state_of
from tests.pipeline import singles

HOUR_MS = 3_600_000
ONE = 1_738_328_400_000  # 2025-01-31 13:00 UTC


def test_a_survey_without_reports_is_empty(registry: Registry) -> None:
    registered = registry.add(colours())
    assert live(registered).content().withheld
    assert live(registered).estimate().reports == 0


def test_accumulator_plus_deltas_are_what_was_folded(registry: Registry) -> None:
    registered = registry.add(colours())
    deliver(registered, 300, seed=1)
    registered.shards[0].compact(registered.shards[0].read("all"))
    deliver(registered, 200, seed=2)
    expected = merge(state_of(colours(), 300, 1), state_of(colours(), 200, 2))
    found = live(registered)
    for name, array in expected.items():
        assert np.array_equal(found.state[name], array)
    assert live(registered).estimate().reports == 500


def test_shards_are_added_as_states(registry: Registry) -> None:
    registered = registry.add(colours(), shards=3)
    for shard in range(3):
        deliver(registered, 100, seed=shard, shard=shard)
    expected = merge(merge(state_of(colours(), 100, 0), state_of(colours(), 100, 1)), state_of(colours(), 100, 2))
    assert np.array_equal(live(registered).state["sum"], expected["sum"])


class TestWindows:
    @pytest.fixture
    def hourly(self, registry: Registry) -> Registered:
        registered = registry.add(colours(window={"every": "1h"}))
        for hour in range(3):
            deliver(registered, 100 + hour, seed=hour, at_ms=ONE + hour * HOUR_MS)
        return registered

    def test_each_by_name_all_and_the_last(self, hourly: Registered) -> None:
        names = ["20250131T130000Z", "20250131T140000Z", "20250131T150000Z"]
        assert [window.name for window in hourly.look().windows] == names
        for hour, name in enumerate(names):
            assert live(hourly, name).estimate().reports == 100 + hour
        assert live(hourly, "last:2").estimate().reports == 203
        assert live(hourly, "last:99").estimate().reports == 303
        assert live(hourly, "all").estimate().reports == 303

    def test_sums_of_windows_equal_one_fold(self, hourly: Registered) -> None:
        expected = merge(state_of(colours(), 101, 1), state_of(colours(), 102, 2))
        assert np.array_equal(live(hourly, "last:2").state["count"], expected["count"])

    def test_past_windows_are_final_and_have_documents(self, hourly: Registered) -> None:
        for name in ("20250131T130000Z", "last:2"):
            document = live(hourly, name).content().document()
            assert document["status"] == "final"

    def test_all_windows_are_final_only_when_no_other_can_begin(self, registry: Registry, hourly: Registered) -> None:
        assert live(hourly).content().document()["status"] == "partial"
        registry.close(hourly.survey.name)
        assert live(hourly).content().document()["status"] == "final"

    @pytest.mark.parametrize("name", ["yesterday", "last:0", "last:-1", "last:x", "20250131T160000Z", "", "last:1e3"])
    def test_unknown_windows_are_refused(self, hourly: Registered, name: str) -> None:
        with pytest.raises(QueryError, match="window must be all, last:N or a window with reports"):
            live(hourly, name)


def test_versions_grow_with_commits_skips_and_finality(registry: Registry) -> None:
    registered = registry.add(colours())
    store = registered.shards[0]
    versions = [live(registered).version]
    deliver(registered, 50, seed=1)
    versions.append(live(registered).version)
    store.compact(store.read("all"))
    assert live(registered).version == versions[-1]
    store.publish("skipped", 1, singles(store, [0, 1]), 2)
    store.skip_backlog("all")
    versions.append(live(registered).version)
    registry.close("colours")
    versions.append(live(registered).version)
    assert versions == sorted(set(versions))
    assert live(registered).final
    assert live(registered).rejected["skipped"] == (2, 0)
