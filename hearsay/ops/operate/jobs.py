"""Deletes the RQ jobs of a deleted survey. They would be harmless: a worker ends a job whose survey is gone."""

from hearsay.collector import queue
from hearsay.collector.store.connect import connect_queue
from hearsay.collector.survey.survey import Survey
from hearsay.ops.config import Settings


def delete_jobs(settings: Settings, survey: Survey) -> int:
    """Delete a survey's queued and failed jobs; returns how many."""
    with connect_queue(settings.with_password().queue_url) as connection:
        return queue.delete_jobs(queue.fold_queue(connection, settings.prefix, settings.queue), survey)
