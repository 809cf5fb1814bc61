"""Jobs that can do one thing only.

Whoever can write to Redis can queue a job; JSON keeps pickles out, and this class refuses every callable but ours, all
callbacks and all webhooks.
"""

import re
import time
from collections.abc import Callable
from typing import Any

from rq import SimpleWorker
from rq.exceptions import DeserializationError
from rq.job import Job

from hearsay.collector.queue import FOLD_JOB, MANY_JOB, MERGE_JOB, FoldArguments, FoldQueue
from hearsay.errors import HearsayError
from hearsay.workers.fold import fold_range
from hearsay.workers.fold_many import fold_many
from hearsay.workers.merge import merge_windows

IDLE_S = 5
GO_BACK_S = 0.1  # a queue of nothing else must not keep a worker busy
ALLOWED: dict[str, Callable[..., Any]] = {FOLD_JOB: fold_range, MANY_JOB: fold_many, MERGE_JOB: merge_windows}


_FAMILY = re.compile(r"fold(-[a-z0-9-]+)?")  # how releases name their jobs


def is_of_another_release(job: Job) -> bool:
    """Whether a job has a form that this release does not know: another name, or other arguments."""
    try:
        name, arguments, more = job.func_name, job.args, job.kwargs
    except DeserializationError:
        return False
    if job.instance is not None or name is None or not _FAMILY.fullmatch(name):
        return False  # another program wrote it
    if name in (MANY_JOB, MERGE_JOB):
        return bool(more) or len(arguments) != 1 or not all(_has_its_words(each) for each in arguments[0])
    return name != FOLD_JOB or bool(more) or not _has_its_words(arguments)


def _has_its_words(words: Any) -> bool:
    """Whether this is one range, or one window to merge: both have five words."""
    return isinstance(words, list | tuple) and len(words) == len(FoldArguments._fields)


class ForbiddenJob(HearsayError):
    """A job asks for a callable that is not on the list."""

    CODE = "forbidden-job"


class FoldJob(Job):
    """A job whose callable is looked up in the list, never imported by name."""

    @property
    def func(self) -> Callable[..., Any]:
        if self.instance is not None or self.func_name not in ALLOWED:
            raise ForbiddenJob("only fold jobs are allowed on this queue")
        return ALLOWED[self.func_name]

    @property
    def success_callback(self) -> None:
        return None

    @property
    def failure_callback(self) -> None:
        return None

    @property
    def stopped_callback(self) -> None:
        return None

    def send_webhooks(self, *_: Any, **__: Any) -> None:
        """Fold jobs tell nobody."""


class FoldWorker(SimpleWorker):
    """Runs fold jobs in this process. A job that a newer release wrote goes back to the queue's end.

    There a newer worker takes it; its ranges wait in the queue, and lose no attempt. Where no newer worker is left, the
    collector enqueues them in a form that is known.
    """

    @property
    def dequeue_timeout(self) -> int:
        """How long an idle worker waits at a time. Only what it writes in between tells it that its server is full."""
        return IDLE_S

    def execute_job(self, job: Job, queue: FoldQueue) -> None:
        if is_of_another_release(job):
            queue.push_job_id(job.id)
            time.sleep(GO_BACK_S)
            return
        super().execute_job(job, queue)
