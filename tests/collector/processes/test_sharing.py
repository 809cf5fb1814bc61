"""Several processes of a role share its work, and one that is gone is replaced within seconds."""

import time
from collections import Counter
from pathlib import Path

import redis

from hearsay.collector import limits
from hearsay.collector.dispatch.dispatcher import CollectorSettings, Dispatcher
from hearsay.collector.health.loop import Health
from hearsay.collector.heartbeats import Heartbeat
from hearsay.collector.limits import HEARTBEAT_TTL_S
from hearsay.collector.sharing import ALL, BEAT_S, SILENT_S, Share
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.estimator.materialise import Materialiser
from hearsay.estimator.serving.exporter import PipelineMetrics
from hearsay.estimator.serving.known import Known
from hearsay.workers.context import Context, set_current
from tests.estimator.test_one_sum import deliver
from tests.identity import known_to_this_process, survey_table
from tests.pipeline import queue_of, singles

__all__ = ["known_to_this_process"]
NAMES = [f"survey-{number}" for number in range(30)]


def shares(registry: Registry, role: str = "estimator", number: int = 3) -> list[Share]:
    """So many processes that have seen each other."""
    every = [Share(Heartbeat(registry, role, f"host-{each}")) for each in range(number)]
    for _ in range(2):
        for share in every:
            share._next = 0.0
            share.refresh()
    return every


def test_everything_belongs_to_exactly_one(client: redis.Redis, prefix: str) -> None:
    every = shares(Registry(client, prefix))
    owners = Counter(number for name in (*NAMES, ALL) for number, share in enumerate(every) if share.is_mine(name))
    assert sum(owners.values()) == len(NAMES) + 1
    assert min(owners.values()) >= 4


def test_one_that_is_alone_has_everything(client: redis.Redis, prefix: str) -> None:
    registry = Registry(client, prefix)
    Heartbeat(registry, "collector", "other").beat()  # of another role
    share = Share(Heartbeat(registry, "estimator", "alone"))
    assert all(share.is_mine(name) for name in (*NAMES, ALL))
    share.refresh()
    assert all(share.is_mine(name) for name in (*NAMES, ALL))


def test_only_the_share_of_one_that_is_gone_changes_hands(client: redis.Redis, prefix: str) -> None:
    registry = Registry(client, prefix)
    every = shares(registry)
    before = {name: next(each for each in every if each.is_mine(name)) for name in NAMES}
    gone, *left = every
    registry.heartbeats.mark("estimator", "host-0", HEARTBEAT_TTL_S - int(SILENT_S) - 1)  # not seen for seven seconds
    for share in left:
        share._next = 0.0
        share.refresh()
    for name, owner in before.items():
        now = [share for share in left if share.is_mine(name)]
        assert len(now) == 1
        assert owner is gone or now == [owner]
    assert BEAT_S + SILENT_S < 10


def several(client: redis.Redis, prefix: str, number: int) -> list[Registered]:
    set_current(Context(client, prefix))
    registry = Registry(client, prefix)
    answers = {"minimum_reports": 1}
    return [registry.add(parse(survey_table("identity", 64, name=name, answers=answers))) for name in NAMES[:number]]


def estimators(client: redis.Redis, prefix: str, root: Path, number: int) -> list[Materialiser]:
    """So many estimators that have seen each other."""
    registry = Registry(client, prefix)
    every = shares(registry, number=number)
    made = [Materialiser(Registry(client, prefix), root / f"{each}") for each in range(number)]
    for materialiser, share in zip(made, every, strict=True):
        materialiser.share = share
    return made


def test_each_series_comes_from_one_estimator(client: redis.Redis, prefix: str, tmp_path: Path) -> None:
    for registered in several(client, prefix, 12):
        deliver(registered.shards[0], 1, 2, 3)
    series: Counter[tuple[str, frozenset[tuple[str, str]]]] = Counter()
    for materialiser in estimators(client, prefix, tmp_path, 3):
        materialiser.run_once()
        known = Known(materialiser.registry, Health(), materialiser.attention, materialiser.share)
        metrics = PipelineMetrics(materialiser.registry, materialiser.failures, known)
        for family in metrics.collect():
            series.update((sample.name, frozenset(sample.labels.items())) for sample in family.samples)
    names = {dict(labels).get("survey") for _, labels in series}
    assert names >= set(NAMES[:12])
    of_each_process = {"hearsay_up", "hearsay_node_up"}  # what this process sees
    assert {key: count for key, count in series.items() if count > 1 and key[0] not in of_each_process} == {}


def test_three_estimators_take_little_more_than_one(client: redis.Redis, prefix: str, tmp_path: Path) -> None:
    """Passes over 30 surveys, all of which have changed. The cheapest ones are compared: what runs beside only adds, so
    on a busy machine more turns bring them nearer to what they cost alone."""
    every = several(client, prefix, 30)
    one, three = estimators(client, prefix, tmp_path / "one", 1), estimators(client, prefix, tmp_path / "three", 3)
    taken: dict[int, list[float]] = {1: [], 3: []}
    ratio = 0.0
    for turn in range(25):
        for running in (one, three):
            for registered in every:
                deliver(registered.shards[0], turn)
            started = time.process_time()
            done = sum(materialiser.run_once().materialised for materialiser in running)
            taken[len(running)].append(time.process_time() - started)
            assert done == len(every)
        if turn >= 5:
            ratio = min(taken[3][1:]) / min(taken[1][1:])  # the first one loads modules
            if ratio <= 1.2:
                break
    print(f"{ratio:.2f} times the processor time of one")
    assert ratio <= 1.2


def test_collectors_share_shards_and_take_over(client: redis.Redis, prefix: str) -> None:
    registry = Registry(client, prefix)
    shards = registry.add(parse(survey_table("identity", 64)), 8).shards
    every = [Dispatcher(client, queue_of(client), CollectorSettings(prefix)) for _ in range(2)]
    for dispatcher, share in zip(every, shares(registry, "collector", 2), strict=True):
        dispatcher.share = share

    def cut(dispatcher: Dispatcher) -> int:
        before = sum(len(shard.ranges()) for shard in shards)
        dispatcher.dispatch()
        return sum(len(shard.ranges()) for shard in shards) - before

    def publish() -> None:
        for shard in shards:
            Writer(shard).publish(singles(shard, range(5)), 5)
        time.sleep(limits.LONGEST_CUT_AGE_MS / 1_000)

    publish()
    first, second = map(cut, every)
    assert first > 0
    assert second == len(shards) - first > 0
    registry.heartbeats.mark("collector", "host-0", HEARTBEAT_TTL_S - int(SILENT_S) - 1)  # the first one is killed
    every[1].share._next = 0.0
    every[1].chores()
    publish()
    assert cut(every[1]) == len(shards)
