"""`hearsay collect`: the dispatcher."""

import logging

import click

from collector import logs
from collector.connect import connect
from collector.dispatcher import Dispatcher
from ops.config import Settings
from ops.connection import open_registry_patiently
from ops.options import SERVER, uses
from ops.services import stopping


@click.command()
@uses(*SERVER, "queue_url", "queue", "lease_s", "plugins", "log_level")
def command(settings: Settings) -> None:
    """Cut streams into ranges and hand them to the workers.

    Also re-enqueues what is overdue, trims what is folded, and tells producers to wait when too much piles up. May be
    killed at any moment: what must not be forgotten stands in Redis.
    """
    logs.configure("collector", settings.log_level)
    with stopping() as stop:
        registry = open_registry_patiently(settings, stop)
        if registry is None:
            return
        logging.getLogger(__name__).info("collecting", extra={"settings": settings.shown()})
        queue_connection = connect(settings.queue_url, check=False)
        Dispatcher(registry.client, queue_connection, settings.prefix, settings.queue, settings.lease_s).run(stop)
