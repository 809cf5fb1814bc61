"""`hearsay work`: the workers."""

import logging

import click

from hearsay.collector import logs
from hearsay.collector.roles import WORKER
from hearsay.ops.config import Settings
from hearsay.ops.server.connection import open_queue_patiently, open_registry_patiently
from hearsay.ops.terminal.options import uses_of
from hearsay.ops.terminal.stopping import stopping
from hearsay.workers.context import WorkerSettings
from hearsay.workers.supervisor import supervise


@click.command()
@uses_of(WORKER)
def command(settings: Settings) -> None:
    """Run workers, which fold ranges of reports.

    A worker that exits is replaced.
    """
    logs.configure("workers", settings.log_level)
    with stopping() as stop:
        if open_registry_patiently(settings, stop, WORKER) is None:
            return
        # Else every worker would complain, again and again.
        queue_connection = open_queue_patiently(settings, stop, WORKER)
        if queue_connection is None:
            return
        queue_connection.close()
        logging.getLogger(__name__).info("working", extra={"settings": settings.chosen()})
        supervise(settings.with_password().part(WorkerSettings), settings.workers, stop)
