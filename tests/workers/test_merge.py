"""Compaction is a job for any worker: the collector asks for it, MERGE is fenced, and nobody depends on it."""

import json

import numpy as np
import pytest
import redis
from rq import SimpleWorker
from rq.serializers import JSONSerializer

from hearsay.collector import limits
from hearsay.collector.dispatch import merging
from hearsay.collector.dispatch.dispatcher import CollectorSettings, Dispatcher
from hearsay.collector.dispatch.merging import Merging
from hearsay.collector.heartbeats import Heartbeat
from hearsay.collector.queue import MERGE_FORM, MergeArguments, fold_queue
from hearsay.collector.store.processes.versions import KNOWN
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.writer import Writer
from hearsay.estimator import materialise
from hearsay.estimator.materialise import Materialiser
from hearsay.workers import job as jobs
from hearsay.workers.context import Context, set_current
from hearsay.workers.job import FoldJob, FoldWorker, is_of_another_release
from hearsay.workers.merge import merge_windows
from tests.pipeline import buckets, fold_all, queue_of, singles, state_of

SIZE = 20


@pytest.fixture(autouse=True)
def a_few_deltas_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MERGE_DELTAS", 3)


@pytest.fixture
def registered(client: redis.Redis, prefix: str) -> Registered:
    """A survey with four deltas, each value once in each; a worker of this release is alive."""
    registered = buckets(client, prefix, SIZE)
    add_deltas(registered, 4)
    for role in ("worker", "collector", "estimator"):
        Heartbeat(Registry(client, prefix), role).beat()
    return registered


def add_deltas(registered: Registered, number: int) -> None:
    (shard,) = registered.shards
    writer = Writer(shard)
    for _ in range(number):
        writer.publish(singles(shard, range(SIZE)), SIZE)
        fold_all(shard)


def run_jobs(client: redis.Redis, prefix: str, worker: type[SimpleWorker] = FoldWorker) -> int:
    queue = fold_queue(queue_of(client), prefix, job_class=FoldJob)
    waiting = queue.count
    running = worker([queue], connection=queue_of(client), serializer=JSONSerializer, job_class=FoldJob)
    running.work(burst=True, logging_level="WARNING", max_jobs=max(waiting, 1))
    return waiting


def dispatcher(client: redis.Redis, prefix: str) -> Dispatcher:
    return Dispatcher(client, queue_of(client), CollectorSettings(prefix))


def counts(registered: Registered) -> list[int]:
    return [int(count) for count in state_of(registered.shards[0])["hist"]]


def test_the_collector_asks_and_a_worker_merges(client: redis.Redis, prefix: str, registered: Registered) -> None:
    (shard,) = registered.shards
    collector = dispatcher(client, prefix)
    collector.chores()
    collector.chores()  # what is asked for is not asked for again
    assert run_jobs(client, prefix) == 1
    seen = shard.look()
    assert (seen.delta_names, seen.status.merges) == ((), 1)
    assert counts(registered) == [4] * SIZE
    collector.chores()
    assert run_jobs(client, prefix) == 0  # nothing is due


def test_a_job_delivered_twice_or_late_changes_nothing(
    client: redis.Redis, prefix: str, registered: Registered
) -> None:
    (shard,) = registered.shards
    merge = MergeArguments.of(shard, "all", False)
    assert merge_windows([list(merge), list(merge)]) == "1 of 2"
    assert merge_windows(json.loads(json.dumps([merge]))) == "0 of 1"
    others = [merge._replace(survey="gone"), merge._replace(tag8="00000000"), merge._replace(shard=9)]
    assert merge_windows(others) == "0 of 3"
    assert counts(registered) == [4] * SIZE


def test_a_merge_between_reading_and_merging_is_refused(registered: Registered) -> None:
    """Two workers read the same; the second one's MERGE finds another fence."""
    (shard,) = registered.shards
    early = shard.read("all")
    assert merge_windows([MergeArguments.of(shard, "all", False)]) == "1 of 1"
    add_deltas(registered, 1)
    assert not shard.compact(early)
    assert counts(registered) == [5] * SIZE


def test_a_worker_that_does_not_know_the_job_puts_it_back(
    client: redis.Redis, prefix: str, registered: Registered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "GO_BACK_S", 0.0)
    collector = dispatcher(client, prefix)
    collector.chores()
    queue = fold_queue(queue_of(client), prefix, job_class=FoldJob)
    (name,) = queue.get_job_ids()
    monkeypatch.setattr(jobs, "MERGE_JOB", "fold-of-another-release")  # as a release that does not know it
    assert is_of_another_release(queue.fetch_job(name))
    run_jobs(client, prefix)
    assert queue.get_job_ids() == [name]  # it went back
    assert len(registered.shards[0].look().delta_names) == 4
    monkeypatch.undo()
    monkeypatch.setattr(limits, "MERGE_DELTAS", 3)
    run_jobs(client, prefix)
    assert registered.shards[0].look().delta_names == ()


def test_merges_are_asked_for_only_where_all_workers_know_them(
    client: redis.Redis, prefix: str, registered: Registered
) -> None:
    collector = dispatcher(client, prefix)
    collector.agreement.forms = KNOWN._replace(jobs=MERGE_FORM - 1)
    collector.agreement._next_reading = float("inf")
    collector.chores()
    assert fold_queue(queue_of(client), prefix).count == 0


def test_the_estimator_leaves_merging_to_workers_for_a_while(
    client: redis.Redis, prefix: str, registered: Registered, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shard,) = registered.shards
    estimator = Materialiser(Registry(client, prefix), None)
    estimator.agreement.refresh()
    assert estimator.run_once().merged == 0
    add_deltas(registered, 2)
    assert estimator.run_once().merged == 1  # twice as many as workers merge at: they do not
    add_deltas(registered, 1)
    shard.close()
    assert estimator.run_once().merged == 0  # it is final, and a worker will merge it
    assert estimator.run_once().work == 0
    monkeypatch.setattr(materialise, "MERGE_PATIENCE_S", -1.0)
    assert estimator.run_once().merged == 1
    assert shard.look().delta_names == ()
    assert counts(registered) == [7] * SIZE


def test_a_final_window_is_settled_when_a_worker_merged_it(
    client: redis.Redis, prefix: str, registered: Registered
) -> None:
    estimator = Materialiser(Registry(client, prefix), None)
    estimator.agreement.refresh()
    registered.shards[0].close()
    estimator.run_once()
    assert estimator.readings.settled(registered.survey.tag) == []
    dispatcher(client, prefix).chores()
    run_jobs(client, prefix)
    estimator.run_once()
    assert estimator.readings.settled(registered.survey.tag) == ["all"]


def test_small_windows_share_a_job(client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    set_current(Context(client, prefix))
    shards = [buckets(client, prefix, SIZE, name=f"survey-{number}").shards[0] for number in range(5)]
    monkeypatch.setattr(merging, "due", lambda shard, look: [shard.survey.windows.named("all")])
    now = [0.0]
    queue = fold_queue(queue_of(client), prefix)
    asking = Merging(queue, 20.0, lambda: now[0])
    looks = [(shard, shard.look()) for shard in shards]
    monkeypatch.setattr(limits, "JOB_RANGES", 2)
    assert (asking.ask(looks), queue.count) == (5, 3)
    assert (asking.ask(looks), queue.count) == (0, 3)
    now[0] = 20.1  # the lease is over, and they are still due
    assert (asking.ask(looks), queue.count) == (5, 6)


def test_large_states_are_merged_at_a_quarter(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MERGE_DELTAS", 1_000)
    registered = buckets(client, prefix, SIZE)
    add_deltas(registered, 2)
    (shard,) = registered.shards
    assert merging.due(shard, shard.look()) == []
    monkeypatch.setattr(limits, "MERGE_LEAST_BYTES", 0)
    assert shard.look().status.delta_bytes > 8 * SIZE // limits.MERGE_SHARE
    assert merging.due(shard, shard.look()) == [registered.survey.windows.named("all")]
    assert np.array_equal(counts(registered), [2] * SIZE)
