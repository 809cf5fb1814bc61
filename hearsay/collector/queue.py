"""The RQ queue that fold jobs go through: its name, the jobs' names, ids and arguments, in one place.

RQ is only a hint that there is work: whatever must not be forgotten stands in a shard's ranges and deltas. Jobs have
three forms: `fold` with the five fields of one range (FoldArguments), `fold-many` with a list of such ranges, and
`fold-merge` with a list of windows whose deltas are to be merged (MergeArguments). A form has a number from 1, which
heartbeats state: a process reads all forms up to the number in its heartbeat.
"""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Self

import redis
from rq import Queue
from rq.exceptions import DeserializationError
from rq.job import Job
from rq.serializers import JSONSerializer

from hearsay.collector.store.condition import Condition, condition
from hearsay.collector.store.keys import PREFIX, QUEUE, queue_name
from hearsay.collector.store.ranges import Range
from hearsay.collector.store.shard import Shard
from hearsay.collector.survey.survey import Survey
from hearsay.release import release

FOLD_JOB = "fold"  # a name that the workers know, not a path: whoever can write to the queue names nothing else
MANY_JOB = "fold-many"
MERGE_JOB = "fold-merge"
MANY_FORM, MERGE_FORM = 2, 3  # the numbers of these forms; FOLD_JOB is form 1
_MANY = "many_"  # ids of MANY_JOB begin so; no survey's name has an underscore
JOB_TIMEOUT_S = 120
FAILURE_TTL_S = 3_600
JOB_TTL_S = 3_600  # a job whose queue was flushed must not stay for ever; its range is enqueued again long before


FoldQueue = Queue  # what others call it: RQ's classes are named here only


class QueueAway(redis.exceptions.ConnectionError):
    """The queue's server does not serve this process; the text names the server."""


@contextmanager
def _named(queue: Queue) -> Iterator[None]:
    """Tell a queue's server that is away from a server of the data, of which the driver's error does not say which."""
    try:
        yield
    except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError) as error:
        does = "does not answer: no job is enqueued until it does; start it, or name another"
        if isinstance(error, redis.exceptions.AuthenticationError):
            does = "refuses the user name or password: name the right ones"
        raise QueueAway(
            f"the queue's server at {_server(queue)} {does} in HEARSAY_QUEUE_URL of collector and workers"
        ) from None


class FoldArguments(NamedTuple):
    """What a fold job is given: which range of which shard, and the nonce that only its current attempt has."""

    survey: str
    tag8: str
    shard: int
    seq: int
    nonce: str

    @classmethod
    def of(cls, shard: Shard, entry_range: Range) -> Self:
        return cls(shard.survey.name, shard.survey.tag8, shard.shard, entry_range.seq, entry_range.nonce)

    def job_id(self, attempt: int) -> str:
        """The id of the job that has this range alone."""
        return f"{self.survey}-{self.tag8}-{self.shard}-{self.seq}-{self.nonce}-{attempt}"


class MergeArguments(NamedTuple):
    """What a merge job is given: a window of a shard. `pack`: it is final, so its accumulator may be packed."""

    survey: str
    tag8: str
    shard: int
    window: str
    pack: bool

    @classmethod
    def of(cls, shard: Shard, window: str, pack: bool) -> Self:
        return cls(shard.survey.name, shard.survey.tag8, shard.shard, window, pack)


def fold_queue(connection: redis.Redis, prefix: str = PREFIX, queue: str = QUEUE, job_class: type[Job] = Job) -> Queue:
    """The queue of a deployment. JSON keeps pickles out."""
    return Queue(queue_name(queue, prefix), connection=connection, serializer=JSONSerializer, job_class=job_class)


def queue_address(queue: Queue) -> str:
    """Which queue on which server, as heartbeats name it: no password, no user."""
    options = queue.connection.connection_pool.connection_kwargs
    server = options.get("path") or f"{options.get('host', '?')}:{options.get('port', '?')}/{options.get('db', 0)}"
    return f"{queue.name} on {server}"


def _server(queue: Queue) -> str:
    """Host and port of a queue's server, or the name that Sentinels have for it."""
    pool = queue.connection.connection_pool
    options = pool.connection_kwargs
    named = getattr(pool, "service_name", None)
    return str(options.get("path") or named or f"{options.get('host')}:{options.get('port')}")


def job_id(shard: Shard, entry_range: Range) -> str:
    """A job's id. It has the attempt, since RQ refuses an id that a dead worker still holds."""
    return FoldArguments.of(shard, entry_range).job_id(entry_range.attempt)


def enqueue(queue: Queue, shard: Shard, entry_range: Range) -> bool:
    """Tell the workers about a range; False where the queue's server has no memory for it."""
    return _enqueue(queue, FOLD_JOB, tuple(FoldArguments.of(shard, entry_range)), job_id(shard, entry_range))


def enqueue_many(queue: Queue, ranges: Sequence[tuple[Shard, Range]]) -> bool:
    """Tell the workers about ranges that one job folds, all of them at their first attempt."""
    arguments = ([FoldArguments.of(shard, entry_range) for shard, entry_range in ranges],)
    return _enqueue(queue, MANY_JOB, arguments, _MANY + secrets.token_hex(8))


def enqueue_merges(queue: Queue, merges: Sequence[MergeArguments]) -> bool:
    """Ask a worker to merge the deltas of these windows. Twice does no harm: the first merge counts."""
    return _enqueue(queue, MERGE_JOB, (list(merges),), "merge_" + secrets.token_hex(8))


def _enqueue(queue: Queue, name: str, arguments: tuple[object, ...], id_of_job: str) -> bool:
    try:
        with _named(queue), queue.connection.pipeline() as pipeline:  # of our own: RQ would ask the server twice
            queue.enqueue_call(
                name,
                args=arguments,
                job_id=id_of_job,
                result_ttl=0,
                ttl=JOB_TTL_S,
                failure_ttl=FAILURE_TTL_S,
                timeout=JOB_TIMEOUT_S,
                description=name,  # RQ would write all arguments once more
                meta={"version": release()},
                pipeline=pipeline,
            )
            pipeline.execute()
    except redis.exceptions.OutOfMemoryError:
        return False
    return True


def waiting_jobs(queue: Queue) -> set[str]:
    """Ids of the jobs that wait in the queue; of a `fold-many` job those that `fold` jobs of its ranges would have."""
    with _named(queue):
        ids = queue.get_job_ids()
        many = _fetch_many(queue, ids)
    waiting = {each for each in ids if not each.startswith(_MANY)}
    for job in many:
        waiting |= {each.job_id(attempt=1) for each in ranges_of(job)}
    return waiting


def waiting_count(queue: Queue) -> int:
    """How many jobs wait in the queue."""
    with _named(queue):
        return int(queue.count)


def queue_condition(queue: Queue) -> Condition:
    """The condition of the queue's server."""
    with _named(queue):
        return condition(queue.connection)


def ranges_of(job: Job) -> list[FoldArguments]:
    """The ranges of a `fold-many` job; none where it is of another form."""
    try:
        return [FoldArguments(*each) for each in job.args[0]]
    except (DeserializationError, TypeError, IndexError):
        return []


def delete_jobs(queue: Queue, survey: Survey) -> int:
    """Delete a survey's queued and failed fold jobs; returns how many.

    A job that also has ranges of other surveys stays, and loses those of this one.
    """
    ids = [*queue.get_job_ids(), *queue.failed_job_registry.get_job_ids(cleanup=False)]
    beginning = f"{survey.name}-{survey.tag8}-"
    jobs = [queue.fetch_job(each) for each in ids if each.startswith(beginning)]
    deletable = [job for job in jobs if job is not None]
    for job in _fetch_many(queue, ids):
        ranges = ranges_of(job)
        others = [each for each in ranges if (each.survey, each.tag8) != (survey.name, survey.tag8)]
        if not others:
            deletable.append(job)
        elif len(others) < len(ranges):
            job.args = (others,)
            job.save()
    for job in deletable:
        job.delete()
    return len(deletable)


def _fetch_many(queue: Queue, ids: Sequence[str]) -> list[Job]:
    """The `fold-many` jobs among those with these ids."""
    chosen = [each for each in ids if each.startswith(_MANY)]
    jobs = queue.job_class.fetch_many(chosen, connection=queue.connection, serializer=queue.serializer)
    return [job for job in jobs if job is not None]
