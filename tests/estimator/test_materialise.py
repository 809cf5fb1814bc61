import json
import logging
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import redis

from hearsay.collector import limits
from hearsay.collector.store import keys
from hearsay.collector.store.connect import connect
from hearsay.collector.store.keys import PREFIX
from hearsay.collector.store.ranges import Range
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.store.shard import Shard
from hearsay.estimator.materialise import Materialiser
from hearsay.estimator.snapshots import files as snapshot
from hearsay.estimator.snapshots import loading
from hearsay.mechanisms import merge
from hearsay.ops.server.embedded import EmbeddedServer
from hearsay.workers.context import Context, set_current
from tests.estimator.snapshots.test_files import VALIDATOR
from tests.estimator.surveys import colours, deliver, state_of
from tests.identity import survey_table
from tests.pipeline import singles


@pytest.fixture
def materialiser(registry: Registry, tmp_path: Path) -> Materialiser:
    return Materialiser(registry, tmp_path)


def test_files_and_redis_follow_the_state(registry: Registry, materialiser: Materialiser, tmp_path: Path) -> None:
    registered = registry.add(colours())
    assert materialiser.run_once().materialised == 0
    expected = colours().mechanism.empty()
    for seed in range(3):
        deliver(registered, 100, seed=seed)
        merge(expected, state_of(colours(), 100, seed))
        assert materialiser.run_once().materialised == 1
        loaded = loading.load(tmp_path / "colours" / "all")
        assert np.array_equal(loaded.state["sum"], expected["sum"])
        assert loaded.metadata["status"] == "partial"
        held = registered.shards[0].snapshot("all")
        assert held is not None
        VALIDATOR.validate(held)
        assert held["reports"] == loaded.metadata["reports"] == 100 * (seed + 1)
        assert held["version"] == loaded.metadata["version"]


def test_what_did_not_change_is_left_alone(registry: Registry, materialiser: Materialiser) -> None:
    registered = registry.add(colours())
    deliver(registered, 100)
    assert materialiser.run_once().materialised == 1
    assert materialiser.run_once().materialised == 0


def test_a_large_window_rests_between_passes_until_it_is_final(
    registry: Registry, materialiser: Materialiser, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered = registry.add(colours())
    deliver(registered, 100, seed=1)
    monkeypatch.setattr("hearsay.estimator.materialise.LARGE_CELLS", 8)  # two arrays of four cells
    monkeypatch.setattr("hearsay.estimator.materialise.REST", 1e6)
    assert materialiser.run_once().materialised == 1
    deliver(registered, 100, seed=2)
    assert materialiser.run_once().materialised == 0
    registry.close("colours")
    assert materialiser.run_once().materialised == 1


def test_a_small_window_never_rests(
    registry: Registry, materialiser: Materialiser, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered = registry.add(colours())
    monkeypatch.setattr("hearsay.estimator.materialise.REST", 1e6)
    for seed in range(2):
        deliver(registered, 100, seed=seed)
        assert materialiser.run_once().materialised == 1


def test_a_closed_survey_becomes_final_once(registry: Registry, materialiser: Materialiser, tmp_path: Path) -> None:
    registered = registry.add(colours())
    deliver(registered, 100)
    materialiser.run_once()
    registry.close("colours")
    assert materialiser.run_once().materialised == 1
    assert materialiser.run_once().materialised == 0
    assert loading.load(tmp_path / "colours" / "all").metadata["status"] == "final"
    # Another process that starts later finds everything in place and does not estimate again.
    assert Materialiser(registry, tmp_path).run_once().materialised == 0
    snapshot.remove_survey(tmp_path, "colours")
    assert Materialiser(registry, tmp_path).run_once().materialised == 1
    assert loading.load(tmp_path / "colours" / "all").metadata["status"] == "final"


def test_a_survey_deleted_and_added_again_begins_with_nothing(
    registry: Registry, materialiser: Materialiser, tmp_path: Path
) -> None:
    for seed in (1, 2):
        registered = registry.add(colours())
        deliver(registered, 100, seed=seed)
        registry.close("colours")
        assert materialiser.run_once().materialised == 1  # not settled, though the first one was
        loaded = loading.load(tmp_path / "colours" / "all")
        assert np.array_equal(loaded.state["sum"], state_of(colours(), 100, seed)["sum"])
        registry.delete("colours")


def test_nothing_of_a_deleted_survey_comes_back(
    registry: Registry,
    client: redis.Redis,
    materialiser: Materialiser,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registered = registry.add(colours())
    deliver(registered, 100)
    prefix, real = registry.prefix, snapshot.publish

    def deleted_meanwhile(*arguments: Any) -> bool:
        registry.delete("colours")
        snapshot.remove_survey(tmp_path, "colours")
        assert not registered.shards[0].put_snapshot("all", 99, b"{}")
        return real(*arguments)

    monkeypatch.setattr(snapshot, "publish", deleted_meanwhile)
    materialiser.run_once()
    assert client.keys(f"{prefix}:{{colours*") == []
    assert not (tmp_path / "colours").exists()


class TestCompaction:
    def test_one_that_failed_is_tried_again_though_nothing_changes(
        self, registry: Registry, materialiser: Materialiser, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "DELTAS_LIMIT", 2)
        registered = registry.add(colours())
        store = registered.shards[0]
        deliver(registered, 100, seed=1)
        deliver(registered, 100, seed=2)
        store.publish("more", 1, singles(store, [0]), 1)
        with monkeypatch.context() as patched:
            patched.setattr(Shard, "compact", lambda shard, reading: False)
            materialiser.run_once()
        assert store.cut(age_ms=0) == "deltas"
        assert materialiser.run_once().merged == 1
        assert materialiser.run_once().materialised == 0
        assert isinstance(store.cut(age_ms=0), Range)

    def test_large_deltas_are_merged_and_the_state_stays(self, registry: Registry, materialiser: Materialiser) -> None:
        registered = registry.add(colours())
        deliver(registered, 100, seed=1)
        deliver(registered, 100, seed=2)
        before = registered.shards[0].read("all").vector.copy()
        assert materialiser.run_once().merged == 1
        after = registered.shards[0].read("all")
        assert after.deltas == {}
        assert np.array_equal(after.vector, before)
        assert registered.shards[0].status().delta_bytes == 0

    def test_small_deltas_wait_until_the_window_is_over(self, registry: Registry, materialiser: Materialiser) -> None:
        registered = registry.add(colours(domain={"kind": "categorical", "size": 1 << 14}))
        deliver(registered, 20)
        assert materialiser.run_once().merged == 0
        assert registered.shards[0].status().deltas == 1
        registry.close("colours")
        assert materialiser.run_once().merged == 1
        assert registered.shards[0].status().deltas == 0

    def test_many_small_deltas_are_merged_before_cut_has_to_wait(
        self, registry: Registry, materialiser: Materialiser, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("hearsay.collector.limits.MERGE_DELTAS", 3)
        registered = registry.add(colours(domain={"kind": "categorical", "size": 1 << 14}))
        for seed, merged in ((1, 0), (2, 0), (3, 1), (4, 0)):
            deliver(registered, 20, seed=seed)
            assert materialiser.run_once().merged == merged
        state = registered.shards[0].read("all").state
        assert registered.survey.mechanism.reports(state) == 80

    def test_two_estimators_do_no_harm(self, registry: Registry, tmp_path: Path) -> None:
        registered = registry.add(colours())
        pair = [Materialiser(registry, tmp_path), Materialiser(registry, tmp_path)]
        expected = colours().mechanism.empty()
        for seed in range(6):
            deliver(registered, 50, seed=seed)
            merge(expected, state_of(colours(), 50, seed))
            for one in pair if seed % 2 else reversed(pair):
                one.run_once()
            assert np.array_equal(registered.shards[0].read("all").state["sum"], expected["sum"])
            assert np.array_equal(loading.load(tmp_path / "colours" / "all").state["sum"], expected["sum"])

    def test_an_older_version_never_replaces_a_newer_one(self, registry: Registry) -> None:
        registered = registry.add(colours())
        assert registered.shards[0].put_snapshot("all", 4, b'{"n": 4}')
        assert not registered.shards[0].put_snapshot("all", 3, b'{"n": 3}')
        assert not registered.shards[0].put_snapshot("all", 4, b'{"n": 4}')
        assert registered.shards[0].snapshot("all") == {"n": 4}
        assert registered.shards[0].put_snapshot("all", 10, b'{"n": 10}')


class TestFailures:
    @pytest.fixture
    def broken(self, registry: Registry) -> Registered:
        registered = registry.add(colours(name="broken"))
        deliver(registered, 100)
        store = registered.shards[0]
        (name,) = store.node.client.hkeys(store.keys.deltas)
        store.node.client.hset(store.keys.deltas, name, b"\xc1 not msgpack")
        return registered

    def test_a_failing_survey_does_not_stop_the_others(
        self,
        registry: Registry,
        materialiser: Materialiser,
        broken: Registered,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        good = registry.add(colours(name="good"))
        deliver(good, 100)
        with caplog.at_level(logging.WARNING):
            done = materialiser.run_once()
        assert (done.materialised, done.failed) == (1, 1)
        assert materialiser.failures == {"broken": 1}
        assert [record.survey for record in caplog.records] == ["broken"]  # type: ignore[attr-defined]
        assert caplog.messages[0].startswith("survey broken: ")
        materialiser.run_once()
        assert materialiser.failures == {"broken": 2}

    def test_a_survey_that_this_version_cannot_read_does_not_stop_the_others(
        self, registry: Registry, materialiser: Materialiser, client: redis.Redis
    ) -> None:
        good = registry.add(colours(name="good"))
        deliver(good, 100)
        table = survey_table("hrr", 4, name="future") | {"mechanism": "not-yet"}
        record = json.dumps({"survey": table, "shards": 1})
        client.hset(keys.surveys(registry.prefix), "future", record)
        done = materialiser.run_once()
        assert (done.materialised, done.failed) == (1, 1)

    def test_a_folder_that_cannot_be_written_is_one_line_and_said_once(
        self, registry: Registry, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        registered = registry.add(colours())
        (tmp_path / "colours").write_text("in the way")
        materialiser = Materialiser(registry, tmp_path)
        for seed in range(3):
            deliver(registered, 10, seed=seed)
            assert materialiser.run_once().failed == 1
        (record,) = caplog.records
        assert record.getMessage().startswith("survey colours: snapshot cannot be written to ")
        assert record.exc_info is None
        (tmp_path / "colours").unlink()
        assert materialiser.run_once().failed == 0
        (tmp_path / "colours").rename(tmp_path / "aside")
        (tmp_path / "colours").write_text("in the way")
        deliver(registered, 10, seed=4)
        materialiser.run_once()
        assert len(caplog.records) == 2

    def test_a_full_disk_does_not_stop_merging(self, registry: Registry, tmp_path: Path) -> None:
        registered = registry.add(colours())
        deliver(registered, 100)
        deliver(registered, 100, seed=2)
        (tmp_path / "colours").write_text("in the way")
        done = Materialiser(registry, tmp_path).run_once()
        assert done.failed == 1
        assert registered.shards[0].status().deltas == 0


def test_a_server_that_lost_its_last_second_is_read_afresh(own_server: EmbeddedServer, tmp_path: Path) -> None:
    """A range's number is used again after a loss; what was remembered under it must not be."""
    survey = colours(domain={"kind": "categorical", "size": 1 << 14})
    client = connect(own_server.url)
    set_current(Context(client, PREFIX))
    materialiser = Materialiser(Registry(client), tmp_path)
    deliver(Registry(client).add(survey), 50, seed=1)
    materialiser.run_once()
    client.flushall()  # stands for the loss; the restart is what the estimator can see of it
    own_server.restart()
    deliver(Registry(client).add(survey), 70, seed=2)
    materialiser.run_once()
    assert loading.load(tmp_path / "colours" / "all").metadata["reports"] == 70
    client.close()


def test_schema_validator_is_strict() -> None:
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate({"format": 1})
