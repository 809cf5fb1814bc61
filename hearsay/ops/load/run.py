"""A load test at one rate: send, watch, and say what was held."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hearsay.collector.heartbeats import roles
from hearsay.collector.roles import ESTIMATOR, WORKER
from hearsay.collector.store.registry import Registry
from hearsay.ops.config import Settings
from hearsay.ops.load.latencies import Done, Latencies, done_at, missing
from hearsay.ops.load.process import Processes, Task
from hearsay.ops.load.sender import Sent
from hearsay.ops.load.verdict import Evidence, Limit, held, limit_of
from hearsay.ops.load.watch import Sample, Watch

DRAIN_S = 30.0  # after the last report was sent: until all are committed
VISIBLE_S = 20.0  # and until a snapshot has them
START_S = 0.1  # until all processes have begun to wait for the start


@dataclass(frozen=True)
class Outcome:
    """What became of the reports of one test."""

    asked_per_s: float | None  # None: as fast as they were taken
    reports: int
    seconds: float
    batches: list[Done]
    samples: list[Sample]
    waits: dict[str, float]
    held: bool | None  # None: for too short a time to judge, or stopped before the end
    limit: Limit | None
    committed_per_s: float  # of what was committed, from the start to the last commit
    acknowledged: Latencies
    committed: Latencies
    visible: Latencies
    others: int = 0  # reports that somebody else published to the survey meanwhile
    stopped: bool = False  # before the end
    # Reports that were not there when the test ended: then nobody knows how long they take. None: not known.
    not_committed: int | None = 0
    not_in_snapshot: int | None = 0

    @property
    def per_s(self) -> float:
        return self.reports / self.seconds if self.seconds else 0.0

    def table(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "reports": self.reports,
            "seconds": self.seconds,
            "reports_per_s": self.per_s,
            "committed_per_s": self.committed_per_s,
            "asked_per_s": self.asked_per_s,
            "held": self.held,
            "stopped": self.stopped,
            "latency_s": self.acknowledged.table(),
            "commit_s": self.committed.table(),
            "snapshot_s": self.visible.table(),
            "not_committed": self.not_committed,
            "not_in_snapshot": self.not_in_snapshot,
            "others": self.others,
            "fresh_s": self.visible.quantile(0.99),
            "waits": {cause: round(seconds, 3) for cause, seconds in sorted(self.waits.items())},
            "limit": None if self.limit is None else self.limit.part,
            "why": None if self.limit is None else self.limit.why,
        }


def run(
    settings: Settings,
    registry: Registry,
    task: Task,
    processes: int,
    stop: threading.Event,
    progress: Callable[[int], None] = lambda _: None,
) -> Outcome:
    """Publish the task's reports from so many processes, and watch what becomes of them."""
    registered = registry.get(task.survey)
    at_first = roles(registry)
    side_by_side = None
    if processes > 1:
        side_by_side = Processes(settings, [task.part(number, processes) for number in range(processes)])
    else:
        sender = task.sender(registered)
    watch = Watch(registered)
    started = time.monotonic() + START_S
    watch.start(started)
    if side_by_side is not None:
        sent = side_by_side.run(started, stop, progress)
    else:
        sent = [sender.run(started, stop, progress)]
    at_last = roles(registry)  # processes may have been restarted meanwhile
    workers, estimators = (max(at_first[each.name], at_last[each.name]) for each in (WORKER, ESTIMATOR))
    return _outcome(task, sent, watch, workers, estimators, stop)


def _outcome(
    task: Task, sent: list[Sent], watch: Watch, workers: int, estimators: int, stop: threading.Event
) -> Outcome:
    reports = sum(each.reports for each in sent)
    batches = sorted(batch for each in sent for batch in each.batches)
    end_s = batches[-1].at_s if batches else 0.0
    drained = watch.wait_for(reports, DRAIN_S if workers else 2.0, stop)
    if drained and estimators:
        watch.wait_visible(reports, VISIBLE_S, stop)
    servers, stopped = watch.finish(), stop.is_set()
    samples, rate = watch.samples, task.rate or (reports / end_s if end_s else 1.0)
    committed_s = next((sample.at_s for sample in samples if sample.committed >= reports), None)
    visible_s = next((sample.at_s for sample in samples if sample.visible >= reports), None)
    others = 0 if stopped else max(watch.published - reports, 0)
    # Commits are counted by survey: those of others are not told apart.
    committed = [] if others else [(sample.at_s, sample.committed) for sample in samples]
    visible = [] if others or not estimators else [(sample.at_s, sample.visible) for sample in samples]
    time_s = max(end_s, 1e-9) * len(sent)
    waits: dict[str, float] = {}
    for each in sent:
        for cause, seconds in each.waits.items():
            waits[cause] = waits.get(cause, 0.0) + seconds
    seen = Evidence(
        seconds=end_s,
        behind_s=0.0 if task.rate is None else end_s - reports / task.rate,
        all_sent=reports >= task.total,
        commit_behind_s=None if committed_s is None else max(committed_s - end_s, 0.0),
        stale_s=None if not estimators or committed_s is None else (visible_s or samples[-1].at_s) - committed_s,
        waits={cause: seconds / time_s for cause, seconds in waits.items()},
        publishing=max(sum(each.publishing_s for each in sent) - sum(waits.values()), 0.0) / time_s,
        making=sum(each.making_s for each in sent) / time_s,
        servers=servers,
        workers=workers,
        all_visible=visible_s is not None,
        late_s=task.late_s,
    )
    return Outcome(
        asked_per_s=task.rate,
        reports=reports,
        seconds=end_s,
        batches=batches,
        samples=samples,
        waits=waits,
        # Of a part of the test nobody knows what would have been held, nor what would have kept it from that.
        held=None if stopped else held(seen, None if task.rate is None else reports / task.rate),
        limit=None if stopped else limit_of(seen),
        committed_per_s=_committed_per_s(samples, reports),
        acknowledged=Latencies(batches),
        committed=Latencies(done_at(committed, rate, reports)),
        visible=Latencies(done_at(visible, rate, reports)),
        others=others,
        stopped=stopped,
        not_committed=missing(committed, reports),
        not_in_snapshot=missing(visible, reports),
    )


def _committed_per_s(samples: Sequence[Sample], reports: int) -> float:
    """The reports that were committed, all of them or not, by the time from the start to the last commit."""
    committed = min(max((sample.committed for sample in samples), default=0), reports)
    last_s = next((sample.at_s for sample in samples if sample.committed >= committed), 0.0)
    return committed / last_s if committed > 0 and last_s > 0 else 0.0
