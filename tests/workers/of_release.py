"""A collector, worker or estimator of another release, as a process: `python -m tests.workers.of_release RELEASE ROLE`.

`before` stands for releases up to 0.2.0: it says nothing in its heartbeat, knows single ranges only, and refuses packed
states. `now` is this release. `next` knows one form more of jobs and of deltas, and writes it once all others know it.
"""

import json
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import msgpack

from hearsay.collector import agreement
from hearsay.collector.dispatch import cutting
from hearsay.collector.dispatch.dispatcher import CollectorSettings, Dispatcher
from hearsay.collector.health.loop import Health
from hearsay.collector.plugins import load_plugins
from hearsay.collector.queue import FoldArguments
from hearsay.collector.store import reading, state
from hearsay.collector.store.connect import connect_queue, open_servers
from hearsay.collector.store.processes import versions
from hearsay.collector.store.registry import Registry
from hearsay.estimator.materialise import Materialiser
from hearsay.estimator.serving.service import loop
from hearsay.workers import fold, job, worker
from hearsay.workers.context import WorkerSettings

LATER_JOB, LATER_DELTA = "fold-later", 4
_APPLY = state._apply


def be_of_before() -> None:
    versions.ProcessInfo.text = lambda _: "1"  # type: ignore[method-assign]
    agreement.Agreement.refresh = lambda each: each.forms  # type: ignore[method-assign]
    worker.check_stored = lambda _: None  # type: ignore[attr-defined]
    job.ALLOWED.pop(job.MANY_JOB)
    job.is_of_another_release = lambda _: False
    state.PACKED_DELTA = 99
    reading.PACKED_CHUNKS = reading.WHOLE_CHUNKS


def apply_later(vector: Any, blob: bytes) -> set[int]:
    """What the next release reads."""
    layout, _, inner = msgpack.unpackb(blob)
    return _APPLY(vector, inner if layout == LATER_DELTA else blob)


def be_of_next() -> None:
    forms = versions.KNOWN._replace(jobs=versions.KNOWN.jobs + 1, deltas=LATER_DELTA)
    versions.KNOWN = agreement.KNOWN = forms
    job.ALLOWED[LATER_JOB] = lambda *words: fold.fold_range(*words[:-1])
    known, encode = job.is_of_another_release, state.encode_delta
    job.is_of_another_release = lambda each: each.func_name != LATER_JOB and known(each)

    def encode_later(vector: Any, layout: int = state.PLAIN_DELTA) -> bytes:
        blob = encode(vector, min(layout, state.PACKED_DELTA))
        return msgpack.packb([LATER_DELTA, vector.size, blob]) if layout >= LATER_DELTA and blob else blob

    fold.encode_delta, state._apply = encode_later, apply_later

    class LaterBatches(cutting.Batches):
        """Every range in a job of its own, with one more word."""

        def __init__(self, queue: Any, form: int) -> None:
            super().__init__(queue, form)
            self._form = form

        def add(self, shard: Any, stretch: Any) -> None:
            if self._form < forms.jobs:
                super().add(shard, stretch)
                return
            self._queue.enqueue_call(LATER_JOB, args=(*FoldArguments.of(shard, stretch), "one word more"), ttl=600)
            self.jobs += 1

    cutting.Batches = LaterBatches  # type: ignore[misc]


def main() -> None:
    release, role = sys.argv[1:]
    settings = json.loads(sys.stdin.buffer.readline())
    agreement.ASK_S = worker.BEAT_S = 0.3  # type: ignore[attr-defined]
    {"before": be_of_before, "now": lambda: None, "next": be_of_next}[release]()
    load_plugins("tests.identity")
    url, queue_url, prefix, stop = settings["url"], settings["queue_url"], settings["prefix"], threading.Event()
    if role == "worker":
        worker.run(WorkerSettings(url, queue_url, prefix, plugins="tests.identity"))
        return
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    registry = Registry(open_servers(url), prefix)
    if role == "collector":
        held = CollectorSettings(prefix, hold_layouts=settings["hold"])
        Dispatcher(registry.servers, connect_queue(queue_url), held).run(stop)
    else:
        loop(Materialiser(registry, Path(settings["snapshots"])), Health(), stop, 0.1)


if __name__ == "__main__":
    main()
