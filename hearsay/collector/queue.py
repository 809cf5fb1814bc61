"""The RQ queue that fold jobs go through: its name, the job's name, a job's id and arguments, in one place.

RQ is only a hint that there is work: whatever must not be forgotten stands in a shard's ranges.
"""

from typing import NamedTuple, Self

import redis
from rq import Queue
from rq.job import Job
from rq.serializers import JSONSerializer

from hearsay.collector.store.keys import PREFIX, QUEUE, queue_name
from hearsay.collector.store.ranges import Range
from hearsay.collector.store.shard import Shard
from hearsay.collector.survey.survey import Survey

FOLD_JOB = "fold"  # a name that the workers know, not a path: whoever can write to the queue names nothing else
JOB_TIMEOUT_S = 120
FAILURE_TTL_S = 3_600
JOB_TTL_S = 3_600  # a job whose queue was flushed must not stay for ever; its range is enqueued again long before


class FoldArguments(NamedTuple):
    """What a fold job is given: which range of which shard, and the nonce that only its current attempt has."""

    survey: str
    tag8: str
    shard: int
    seq: int
    nonce: str

    @classmethod
    def of(cls, shard: Shard, stretch: Range) -> Self:
        return cls(shard.survey.name, shard.survey.tag8, shard.shard, stretch.seq, stretch.nonce)


def fold_queue(connection: redis.Redis, prefix: str = PREFIX, queue: str = QUEUE, job_class: type[Job] = Job) -> Queue:
    """The queue of a deployment. JSON keeps pickles out."""
    return Queue(queue_name(queue, prefix), connection=connection, serializer=JSONSerializer, job_class=job_class)


def job_id(shard: Shard, stretch: Range) -> str:
    """A job's id. It has the attempt, since RQ refuses an id that a dead worker still holds."""
    return f"{_beginning(shard.survey)}{shard.shard}-{stretch.seq}-{stretch.nonce}-{stretch.attempt}"


def enqueue(queue: Queue, shard: Shard, stretch: Range) -> bool:
    """Tell the workers about a range; False where the queue's server has no memory for it."""
    try:
        queue.enqueue_call(
            FOLD_JOB,
            args=tuple(FoldArguments.of(shard, stretch)),
            job_id=job_id(shard, stretch),
            result_ttl=0,
            ttl=JOB_TTL_S,
            failure_ttl=FAILURE_TTL_S,
            timeout=JOB_TIMEOUT_S,
        )
    except redis.exceptions.OutOfMemoryError:
        return False
    return True


def delete_jobs(queue: Queue, survey: Survey) -> int:
    """Delete a survey's queued and failed jobs; answers how many."""
    names = [*queue.get_job_ids(), *queue.failed_job_registry.get_job_ids(cleanup=False)]
    jobs = [queue.fetch_job(name) for name in names if name.startswith(_beginning(survey))]
    waiting = [job for job in jobs if job is not None]
    for job in waiting:
        job.delete()
    return len(waiting)


def _beginning(survey: Survey) -> str:
    """How the ids of a survey's jobs begin."""
    return f"{survey.name}-{survey.tag8}-"
