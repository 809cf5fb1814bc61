"""Real RQ workers in processes of their own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import pytest
import redis
from rq import Queue
from rq.serializers import JSONSerializer

from hearsay.collector.dispatch.dispatcher import CollectorSettings, Dispatcher
from hearsay.collector.queue import enqueue
from hearsay.collector.store.keys import queue_name
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.ops.server.embedded import EmbeddedServer
from hearsay.workers.context import WorkerSettings
from hearsay.workers.fold import fold_range
from hearsay.workers.supervisor import start_worker
from tests.cluster import QUEUE_URL
from tests.identity import POISON, survey_table
from tests.pipeline import buckets, cut_all, queue_of, singles, state_of

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads child processes from /proc")
ROOT = Path(__file__).parents[2]


def wait_for(condition: Callable[[], bool], seconds: float = 40.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.05)


def queue_url(server: EmbeddedServer) -> str:
    """Beside a cluster the queue has a server of its own."""
    return os.environ.get(QUEUE_URL, server.url)


@contextmanager
def running(
    server: EmbeddedServer, prefix: str, module: str, *arguments: str, stderr: IO[bytes] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    settings = WorkerSettings(server.url, queue_url(server), prefix, prefix, plugins="tests.identity")
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments], cwd=ROOT, stdin=subprocess.PIPE, stderr=stderr
    )
    assert process.stdin is not None
    process.stdin.write(settings.line())
    process.stdin.flush()
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()


def test_a_range_enqueued_three_times_commits_once(server: EmbeddedServer, client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 1_000).shards[0]
    Writer(store).publish(singles(store, range(1_000)), 1_000)
    dispatcher = Dispatcher(client, queue_of(client), CollectorSettings(prefix, queue=prefix))
    (found,) = cut_all(store)
    for attempt in range(3):
        enqueue(dispatcher.queue, store, type(found)(**{**vars(found), "attempt": attempt}))
    with running(server, prefix, "hearsay.workers.worker"), running(server, prefix, "hearsay.workers.worker"):
        wait_for(lambda: dispatcher.queue.count == 0 and store.ranges() == [])
        time.sleep(0.3)
    assert (state_of(store)["hist"] == 1).all()
    assert client.hget(store.keys.counters("all"), "commits") == b"1"


def test_a_job_of_a_survey_that_is_gone_does_nothing(client: redis.Redis, prefix: str) -> None:
    registered = buckets(client, prefix, 10)
    name, tag8 = registered.survey.name, registered.survey.tag8
    assert fold_range(name, tag8, 2, 1, "nonce") == "gone"  # it had three shards before it was added again
    assert fold_range(name, "00000000", 0, 1, "nonce") == "gone"
    assert fold_range("other", tag8, 0, 1, "nonce") == "gone"


def test_workers_log_in_json_lines(server: EmbeddedServer, client: redis.Redis, prefix: str, tmp_path: Path) -> None:
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish(singles(store, range(10)), 10)
    (found,) = cut_all(store)
    client.xtrim(store.keys.stream, maxlen=0)
    dispatcher = Dispatcher(client, queue_of(client), CollectorSettings(prefix, queue=prefix))
    enqueue(dispatcher.queue, store, found)
    with (tmp_path / "log").open("wb") as log, running(server, prefix, "hearsay.workers.worker", stderr=log):
        wait_for(lambda: dispatcher.queue.failed_job_registry.count == 1)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [(line["level"], line["process"]) for line in lines] == [("error", "worker")]
    assert "must have 10 entries, got 0" in lines[0]["message"]


def test_only_fold_jobs_run(server: EmbeddedServer, client: redis.Redis, prefix: str, tmp_path: Path) -> None:
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish(singles(store, range(10)), 10)
    (found,) = cut_all(store)
    trace = tmp_path / "trace"
    queue = Queue(queue_name(prefix, prefix), connection=queue_of(client), serializer=JSONSerializer)
    evil = queue.enqueue_call("os.system", args=(f"touch {trace}",), failure_ttl=60)
    queue.enqueue_call("builtins.print", args=("never",), failure_ttl=60)
    enqueue(Dispatcher(client, queue_of(client), CollectorSettings(prefix, queue=prefix)).queue, store, found)
    with running(server, prefix, "hearsay.workers.worker"):
        wait_for(lambda: store.ranges() == [])
    assert not trace.exists()
    assert evil.is_failed
    assert (state_of(store)["hist"] == 1).all()


@pytest.mark.parametrize(
    ("name", "more"), [("fold", ("newer",)), ("fold-later", ()), ("fold-many", ("newer",))], ids=str
)
def test_a_job_of_a_newer_release_goes_back_and_no_attempt_is_lost(
    server: EmbeddedServer, client: redis.Redis, prefix: str, name: str, more: tuple[str, ...]
) -> None:
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish(singles(store, range(10)), 10)
    (found,) = cut_all(store)
    dispatcher = Dispatcher(client, queue_of(client), CollectorSettings(prefix, queue=prefix))
    words = (store.survey.name, store.survey.tag8, 0, found.seq, found.nonce)
    newer = dispatcher.queue.enqueue_call(name, args=(*words, *more), failure_ttl=60)
    with running(server, prefix, "hearsay.workers.worker"):
        wait_for(lambda: client.hlen(f"{prefix}:heartbeats") == 1)
        time.sleep(0.5)
        assert store.range(found.seq) == found
        assert dispatcher.queue.failed_job_registry.count == 0
        enqueue(dispatcher.queue, store, found)  # a form that is known is not kept waiting by one that is not
        wait_for(lambda: store.ranges() == [])
    assert newer.get_status(refresh=True) == "queued"
    assert (state_of(store)["hist"] == 1).all()


def test_workers_do_not_outlive_their_supervisor(server: EmbeddedServer, client: redis.Redis, prefix: str) -> None:
    with running(server, prefix, "tests.workers.supervised") as supervisor:
        wait_for(lambda: len(children(supervisor.pid)) == 2)
        orphans = children(supervisor.pid)
        wait_for(lambda: client.hlen(f"{prefix}:heartbeats") == 2)
        supervisor.kill()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in orphans), 20.0)


@pytest.mark.parametrize("after_s", [0.0, 0.05, 0.1, 0.2, 0.3, 0.5])
def test_workers_whose_supervisor_dies_while_they_start_end_too(
    server: EmbeddedServer, client: redis.Redis, prefix: str, after_s: float
) -> None:
    with running(server, prefix, "tests.workers.supervised") as supervisor:
        wait_for(lambda: len(children(supervisor.pid)) == 2)
        orphans = children(supervisor.pid)
        time.sleep(after_s)
        supervisor.kill()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in orphans), 20.0)


def test_deployments_that_differ_in_the_prefix_only_share_no_job(
    server: EmbeddedServer, client: redis.Redis, prefix: str
) -> None:
    """The same queue name, as everybody leaves it at its default: a foreign worker must never see the job."""
    ours, theirs = f"{prefix}a", f"{prefix}b"
    store = buckets(client, ours, 50).shards[0]
    dispatcher = Dispatcher(client, queue_of(client), CollectorSettings(ours))
    Writer(store).publish(singles(store, range(50)), 50)
    (found,) = cut_all(store)
    enqueue(dispatcher.queue, store, found)
    settings = WorkerSettings(server.url, queue_url(server), theirs, plugins="tests.identity")
    with start_worker(settings) as worker:
        wait_for(lambda: client.hlen(f"{theirs}:heartbeats") == 1)
        time.sleep(0.5)
        assert dispatcher.queue.count == 1
        assert store.range(found.seq) == found
        worker.kill()


def test_a_job_that_nobody_takes_goes_away(client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 10).shards[0]
    Writer(store).publish(singles(store, range(10)), 10)
    (found,) = cut_all(store)
    dispatcher = Dispatcher(client, queue_of(client), CollectorSettings(prefix))
    enqueue(dispatcher.queue, store, found)
    queue = queue_of(client)
    (job,) = queue.keys("rq:job:*")
    assert 0 < queue.ttl(job) <= 3_600


def test_a_worker_that_ends_takes_its_mark_away(server: EmbeddedServer, client: redis.Redis, prefix: str) -> None:
    with running(server, prefix, "tests.workers.supervised") as supervisor:
        wait_for(lambda: client.hlen(f"{prefix}:heartbeats") == 2)
        supervisor.terminate()
        assert supervisor.wait(timeout=10) == 0
    assert client.hlen(f"{prefix}:heartbeats") == 0


def test_a_worker_that_dies_is_replaced(server: EmbeddedServer, client: redis.Redis, prefix: str) -> None:
    store = buckets(client, prefix, 200).shards[0]
    dispatcher = Dispatcher(client, queue_of(client), CollectorSettings(prefix, queue=prefix, lease_s=1.0))
    writer = Writer(store)
    with running(server, prefix, "tests.workers.supervised") as supervisor:
        wait_for(lambda: len(children(supervisor.pid)) == 2)
        for start in range(0, 200, 20):
            writer.publish(singles(store, range(start, start + 20)), 20)
            dispatcher.dispatch()
            with suppress(ProcessLookupError):  # it may be gone by itself
                os.kill(children(supervisor.pid)[0], signal.SIGKILL)
            wait_for(lambda: len(children(supervisor.pid)) == 2)

        def drained() -> bool:
            dispatcher.dispatch()
            dispatcher.chores()
            return bool((state_of(store)["hist"] == 1).all())

        wait_for(drained)
        supervisor.terminate()
        assert supervisor.wait(timeout=10) == 0
    assert (state_of(store)["hist"] == 1).all()


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def test_a_poisonous_range_is_quarantined_and_blocks_nothing(
    server: EmbeddedServer, client: redis.Redis, prefix: str
) -> None:
    registry = Registry(client, prefix)
    store = registry.add(parse(survey_table("poison", 100))).shards[0]
    writer = Writer(store)
    dispatcher = Dispatcher(client, queue_of(client), CollectorSettings(prefix, queue=prefix, lease_s=1.0))
    writer.publish(singles(store, [POISON]), 1)
    (poison,) = cut_all(store)
    enqueue(dispatcher.queue, store, poison)
    others = [value for value in range(100) if value != POISON]
    writer.publish(singles(store, others), 99)
    with running(server, prefix, "tests.workers.supervised"):

        def done() -> bool:
            dispatcher.dispatch()
            dispatcher.chores()
            return store.status().quarantined == 1

        wait_for(done, 60.0)
        wait_for(lambda: int(state_of(store)["hist"].sum()) == 99)
    aside = store.range(poison.seq)
    assert aside is not None
    assert aside.attempt == 5
    hist = state_of(store)["hist"]
    assert hist[POISON] == 0
    assert all(hist[value] == 1 for value in others)
    assert client.xrange(store.keys.stream, poison.first, poison.last)  # kept, to be retried or skipped by command
