"""What is kept for its time, and forgotten afterwards."""

from pathlib import Path

import pytest
import redis

from hearsay.collector.store.look import GONE
from hearsay.collector.store.registry import Registered, Registry
from hearsay.estimator.materialise import Materialiser
from hearsay.estimator.retention import forget
from hearsay.estimator.snapshots import files as snapshot
from tests.estimator.surveys import colours, deliver
from tests.pipeline import cut_all, singles, watched

HOUR_MS = 3_600_000


@pytest.fixture
def materialiser(registry: Registry, tmp_path: Path) -> Materialiser:
    return Materialiser(registry, tmp_path)


class TestRetention:
    @pytest.fixture
    def hourly(self, registry: Registry, client: redis.Redis) -> Registered:
        registered = registry.add(colours(window={"every": "1h", "retain": "2h"}))
        this_hour = registered.shards[0].now_ms() // HOUR_MS * HOUR_MS
        for hours_ago in (5, 4, 1):
            deliver(registered, 100, seed=hours_ago, at_ms=this_hour - hours_ago * HOUR_MS)
        watched(client, registered.shards[0], 3 * 3_600)
        return registered

    def test_a_clock_that_jumped_by_a_month_deletes_nothing(
        self, registry: Registry, tmp_path: Path, client: redis.Redis
    ) -> None:
        """By the clock the windows are old; by the time that went by they are not."""
        registered = registry.add(colours(window={"every": "1h", "retain": "30d"}))
        deliver(registered, 100, at_ms=registered.shards[0].now_ms() // HOUR_MS * HOUR_MS - 31 * 24 * HOUR_MS)
        materialiser = Materialiser(registry, tmp_path)
        assert materialiser.run_once().purged == 0
        assert len(registered.look().windows) == len(snapshot.windows(tmp_path, "colours")) == 1
        watched(client, registered.shards[0], 30 * 86_400)
        assert len(forget(registered, tmp_path)) == 1
        assert registered.look().windows == []
        assert snapshot.windows(tmp_path, "colours") == []

    def test_a_foreign_link_among_the_snapshots_is_left_alone(self, hourly: Registered, tmp_path: Path) -> None:
        (tmp_path / "colours").mkdir()
        (tmp_path / "colours" / "latest").symlink_to("elsewhere")
        assert len(forget(hourly, tmp_path)) == 2
        assert (tmp_path / "colours" / "latest").is_symlink()

    def test_old_windows_go_from_redis_and_disk(
        self, registry: Registry, hourly: Registered, materialiser: Materialiser, tmp_path: Path
    ) -> None:
        done = materialiser.run_once()
        assert (done.materialised, done.purged) == (3, 2)
        store = hourly.shards[0]
        assert len(snapshot.windows(tmp_path, "colours")) == 1
        assert store.node.client.scard(store.keys.windows) == 1
        left = [key.decode() for key in store.node.client.keys(store.keys.base + "*")]
        assert sum("counters:" in key for key in left) == 1
        assert sum("chunk:" in key for key in left) == 1
        assert sum("snapshot:" in key for key in left) == 1

    def test_totals_survive_and_are_moved_once(self, hourly: Registered) -> None:
        assert len(forget(hourly, None)) == 2
        assert forget(hourly, None) == []
        store = hourly.shards[0]
        assert store.node.client.hget(store.keys.meta, f"{GONE}folded") == b"200"

    def test_a_window_with_an_outstanding_range_stays(self, registry: Registry) -> None:
        registered = registry.add(colours(window={"every": "1h", "retain": "2h"}))
        store = registered.shards[0]
        name, payload = singles(store, [1])[0]
        long_ago = store.now_ms() // HOUR_MS * HOUR_MS - 9 * HOUR_MS
        store.node.client.xadd(store.keys.stream, {name: payload}, id=f"{long_ago}-1")
        assert len(cut_all(store)) == 1
        store.node.client.sadd(store.keys.windows, cut_window := store.ranges()[0].window(store.survey.windows).name)
        assert forget(registered, None) == []
        assert store.node.client.smembers(store.keys.windows) == {cut_window.encode()}

    def test_without_retain_nothing_goes(self, registry: Registry, materialiser: Materialiser) -> None:
        registered = registry.add(colours(window={"every": "1h"}))
        deliver(registered, 100, at_ms=HOUR_MS)
        assert materialiser.run_once().purged == 0
