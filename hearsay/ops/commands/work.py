"""`hearsay work`: the workers."""

import logging

import click

from hearsay.collector import logs
from hearsay.ops.config import Settings
from hearsay.ops.server.connection import open_registry_patiently
from hearsay.ops.terminal.options import SERVER, uses
from hearsay.ops.terminal.stopping import stopping
from hearsay.workers.context import WorkerSettings
from hearsay.workers.supervisor import supervise


@click.command()
@uses(*SERVER, "queue_url", "queue", "workers", "dead_letter_payload", "plugins", "log_level")
def command(settings: Settings) -> None:
    """Keep workers running that fold ranges of reports.

    A worker that exits, for whatever reason, is replaced.
    """
    logs.configure("workers", settings.log_level)
    worker_settings = WorkerSettings(
        settings.redis_url,
        settings.queue_url,
        settings.prefix,
        settings.queue,
        settings.dead_letter_payload,
        settings.plugins,
    )
    with stopping() as stop:
        if open_registry_patiently(settings, stop) is None:
            return
        logging.getLogger(__name__).info("working", extra={"settings": settings.shown()})
        supervise(worker_settings, settings.workers, stop)
