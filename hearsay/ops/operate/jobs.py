"""RQ jobs of a survey that is deleted: harmless, since a worker finds the survey gone, but in the way."""

from rq import Queue
from rq.serializers import JSONSerializer

from hearsay.collector.store.connect import connect
from hearsay.collector.store.keys import queue_name
from hearsay.collector.survey.survey import Survey
from hearsay.ops.config import Settings


def forget_jobs(settings: Settings, survey: Survey) -> int:
    """Delete a survey's queued and failed jobs; answers how many."""
    with connect(settings.queue_url, check=False) as connection:
        queue = Queue(queue_name(settings.queue, settings.prefix), connection=connection, serializer=JSONSerializer)
        names = [*queue.get_job_ids(), *queue.failed_job_registry.get_job_ids(cleanup=False)]
        deleted = 0
        for name in names:
            if name.startswith(f"{survey.name}-{survey.tag8}-") and (job := queue.fetch_job(name)) is not None:
                job.delete()
                deleted += 1
        return deleted
