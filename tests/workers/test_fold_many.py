"""Many small ranges in one job: each is leased, folded and refused by itself, and costs little."""

import os
import resource
import time

import pytest
import redis
from rq import SimpleWorker
from rq.serializers import JSONSerializer

from hearsay.collector import limits
from hearsay.collector.dispatch.cutting import Batches, cut_age_ms
from hearsay.collector.dispatch.dispatcher import CollectorSettings, Dispatcher
from hearsay.collector.errors import CollectorError
from hearsay.collector.heartbeats import Heartbeat
from hearsay.collector.queue import MANY_FORM, FoldArguments, delete_jobs, fold_queue, ranges_of, waiting_jobs
from hearsay.collector.store import keys
from hearsay.collector.store.ranges import Range
from hearsay.collector.store.registry import Registry
from hearsay.collector.store.shard import Shard
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.ops.server.embedded import EmbeddedServer
from hearsay.workers.context import Context, set_current
from hearsay.workers.fold_many import fold_many
from hearsay.workers.job import FoldJob
from tests.identity import POISON, survey_table
from tests.pipeline import cut_all, queue_of, singles, state_of
from tests.workers.test_worker import running, wait_for


def several(client: redis.Redis, prefix: str, number: int, mechanism: str = "identity") -> list[Shard]:
    """The shards of so many surveys; jobs of this process work on them."""
    set_current(Context(client, prefix))
    registry = Registry(client, prefix)
    return [registry.add(parse(survey_table(mechanism, 20, name=f"survey-{each}"))).shards[0] for each in range(number)]


def cut_one(shard: Shard, values: range) -> tuple[Shard, Range]:
    Writer(shard).publish(singles(shard, values), len(values))
    (stretch,) = cut_all(shard)
    return shard, stretch


def run_jobs(client: redis.Redis, prefix: str) -> int:
    """Work like a worker until the queue is empty; answers how many jobs there were."""
    queue = fold_queue(queue_of(client), prefix, job_class=FoldJob)
    jobs = queue.count
    worker = SimpleWorker([queue], connection=queue_of(client), serializer=JSONSerializer, job_class=FoldJob)
    worker.work(burst=True, logging_level="WARNING")
    return jobs


def test_one_job_folds_ranges_of_many_surveys_once(client: redis.Redis, prefix: str) -> None:
    shards = several(client, prefix, 5)
    ranges = [FoldArguments.of(*cut_one(shard, range(number, 20))) for number, shard in enumerate(shards)]
    assert fold_many(ranges) == "5 of 5"
    assert fold_many([list(each) for each in ranges]) == "0 of 5"  # delivered once more, as JSON has it
    for number, shard in enumerate(shards):
        assert state_of(shard)["hist"].tolist() == [0] * number + [1] * (20 - number)
        assert client.hget(shard.keys.counters("all"), "commits") == b"1"


def test_a_range_that_is_gone_stale_or_damaged_stops_no_other(client: redis.Redis, prefix: str) -> None:
    shards = several(client, prefix, 5)
    cuts = [cut_one(shard, range(10)) for shard in shards]
    ranges = [FoldArguments.of(*each) for each in cuts]
    ranges[0] = ranges[0]._replace(nonce="of-another")
    ranges[1] = ranges[1]._replace(tag8="00000000")
    ranges[2] = ranges[2]._replace(shard=7)
    client.xdel(shards[3].keys.stream, cuts[3][1].first)
    with pytest.raises(CollectorError, match="1 of 5 ranges"):
        fold_many(ranges)
    assert [int(state_of(shard)["hist"].sum()) for shard in shards] == [0, 0, 0, 0, 10]
    assert all(shard.range(stretch.seq) == stretch for shard, stretch in cuts[:4])


def test_a_range_that_kills_its_worker_costs_the_others_one_attempt(
    server: EmbeddedServer, client: redis.Redis, prefix: str
) -> None:
    shards = several(client, prefix, 4, "poison")
    ranges = [cut_one(shard, range(POISON)) for shard in shards[:3]]
    ranges.insert(1, cut_one(shards[3], range(POISON, POISON + 1)))
    dispatcher = Dispatcher(client, queue_of(client), CollectorSettings(prefix, queue=prefix, lease_s=3.0))
    batches = Batches(dispatcher.queue, MANY_FORM)
    for each in ranges:
        batches.add(*each)
    batches.flush()
    assert batches.jobs == 1
    with running(server, prefix, "tests.workers.supervised"):

        def done() -> bool:
            dispatcher.chores()
            return all(int(state_of(shard)["hist"].sum()) == POISON for shard in shards[:3])

        wait_for(done)
        assert [shard.status().quarantined for shard in shards] == [0, 0, 0, 0]
        beside = [
            shard for shard in shards[:3] if shard.node is shards[3].node
        ]  # those of other nodes may be done before
        assert all(shard.status().reissued >= 1 for shard in beside)


def test_ranges_share_jobs_where_every_worker_knows_them(client: redis.Redis, prefix: str) -> None:
    shards = several(client, prefix, 3)
    registry = Registry(client, prefix)
    dispatcher = Dispatcher(client, queue_of(client), CollectorSettings(prefix))
    Heartbeat(registry, "worker", "new").beat()
    client.set(keys.old_heartbeat(prefix, "worker:old"), "1", ex=30)  # of a release that knows single ranges only

    def jobs() -> list[str]:
        for shard in shards:
            Writer(shard).publish(singles(shard, range(5)), 5)
        time.sleep(1.1 * limits.CUT_AGE_MS / 1_000)
        dispatcher.agreement._next_reading = dispatcher.agreement._next_search = 0.0
        dispatcher.agreement.refresh()
        dispatcher.dispatch()
        names = [job.func_name for job in dispatcher.queue.jobs]
        run_jobs(client, prefix)
        return names

    assert jobs() == ["fold", "fold", "fold"]
    client.delete(keys.old_heartbeat(prefix, "worker:old"))
    assert jobs() == ["fold-many"]
    assert [int(state_of(shard)["hist"].sum()) for shard in shards] == [10, 10, 10]


def test_a_range_waiting_in_a_job_with_others_is_not_overdue(client: redis.Redis, prefix: str) -> None:
    shards = several(client, prefix, 2)
    cuts = [cut_one(shard, range(5)) for shard in shards]
    dispatcher = Dispatcher(client, queue_of(client), CollectorSettings(prefix, lease_s=0.0))
    batches = Batches(dispatcher.queue, MANY_FORM)
    for each in cuts:
        batches.add(*each)
    batches.flush()
    time.sleep(0.01)
    assert len(waiting_jobs(dispatcher.queue)) == 2
    assert [dispatcher.reconcile(shard) for shard in shards] == [0, 0]
    dispatcher.queue.empty()
    assert [dispatcher.reconcile(shard) for shard in shards] == [1, 1]


def test_deleting_a_survey_takes_its_ranges_out_of_shared_jobs(client: redis.Redis, prefix: str) -> None:
    shards = several(client, prefix, 2)
    queue = Dispatcher(client, queue_of(client), CollectorSettings(prefix)).queue
    batches = Batches(queue, MANY_FORM)
    for shard in shards:
        batches.add(*cut_one(shard, range(5)))
    batches.flush()
    assert delete_jobs(queue, shards[0].survey) == 0
    (job,) = queue.jobs
    assert [each.survey for each in ranges_of(job)] == ["survey-1"]
    assert delete_jobs(queue, shards[1].survey) == 1
    assert queue.count == 0


def test_large_ranges_and_large_states_have_jobs_of_their_own(client: redis.Redis, prefix: str) -> None:
    (shard,) = several(client, prefix, 1)
    wide = Registry(client, prefix).add(parse(survey_table("identity", limits.JOB_CELLS // 2, name="wide"))).shards[0]
    queue = fold_queue(queue_of(client), prefix)
    small = cut_one(shard, range(5))[1]
    batches = Batches(queue, MANY_FORM)
    for shards in (shard, wide):
        for size in (limits.JOB_BYTES, 10):
            batches.add(shards, Range(**{**vars(small), "size": size}))
    batches.add(shard, small)
    batches.flush()
    assert [job.func_name for job in queue.jobs] == ["fold", "fold", "fold", "fold-many"]


@pytest.mark.parametrize(("jobs", "age_ms"), [(0, 250), (1, 500), (7, 2_000), (100, 2_000)])
def test_ranges_grow_with_the_backlog(jobs: int, age_ms: int) -> None:
    assert cut_age_ms(jobs) == age_ms


def processor_s(client: redis.Redis) -> float:
    """Processor time of this process and of the server."""
    server = client.info("cpu")
    used = resource.getrusage(resource.RUSAGE_SELF)
    return float(used.ru_utime + used.ru_stime + server["used_cpu_user"] + server["used_cpu_sys"])


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="processor time as Linux counts it")
def test_a_small_range_costs_at_most_two_milliseconds(client: redis.Redis, prefix: str) -> None:
    """One range of 10 reports in each of 300 surveys: cut, queued, folded and committed, all processes together."""
    shards = several(client, prefix, 300)
    Heartbeat(Registry(client, prefix), "worker").beat()
    dispatcher = Dispatcher(client, queue_of(client), CollectorSettings(prefix))
    dispatcher.agreement.refresh()
    costs = []
    for turn in range(4):  # the first one loads scripts and modules
        for shard in shards:
            Writer(shard).publish(singles(shard, range(10)), 10)
        time.sleep(2 * limits.CUT_AGE_MS / 1_000)
        before = processor_s(client)
        while sum(int(client.hget(shard.keys.counters("all"), "commits") or 0) for shard in shards[-1:]) <= turn:
            dispatcher.dispatch()
            run_jobs(client, prefix)
        costs.append((processor_s(client) - before) / len(shards))
    assert all(int(client.hget(shard.keys.counters("all"), "commits")) == 4 for shard in shards)
    print([f"{1_000 * cost:.2f} ms" for cost in costs])
    assert min(costs[1:]) <= 0.002, costs
