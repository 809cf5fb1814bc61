"""Jobs that can do one thing only.

Whoever can write to Redis can queue a job; JSON keeps pickles out, and this class refuses every callable but ours, all
callbacks and all webhooks.
"""

from collections.abc import Callable
from typing import Any

from rq.job import Job

from hearsay.collector.queue import FOLD_JOB, MANY_JOB
from hearsay.errors import HearsayError
from hearsay.workers.fold import fold_range
from hearsay.workers.fold_many import fold_many

ALLOWED: dict[str, Callable[..., Any]] = {FOLD_JOB: fold_range, MANY_JOB: fold_many}


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
