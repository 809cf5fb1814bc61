"""`hearsay collect`: the dispatcher."""

import logging

import click

from hearsay.collector import logs
from hearsay.collector.dispatch.dispatcher import CollectorSettings, Dispatcher
from hearsay.collector.roles import COLLECTOR
from hearsay.ops.config import Settings
from hearsay.ops.server.connection import open_queue_patiently, open_registry_patiently
from hearsay.ops.terminal.options import uses_of
from hearsay.ops.terminal.stopping import stopping


@click.command()
@uses_of(COLLECTOR)
def command(settings: Settings) -> None:
    """Cut streams into ranges and hand them to the workers.

    Also enqueues overdue ranges again, trims folded entries, and tells producers to wait while the backlog is too
    large. May be killed at any moment: its whole state is in Redis.
    """
    logs.configure(COLLECTOR.name, settings.log_level)
    with stopping() as stop:
        registry = open_registry_patiently(settings, stop, COLLECTOR)
        if registry is None:
            return
        logging.getLogger(__name__).info("collecting", extra={"settings": settings.chosen()})
        queue_connection = open_queue_patiently(settings, stop, COLLECTOR)
        if queue_connection is None:
            return
        Dispatcher(registry.servers, queue_connection, settings.part(CollectorSettings)).run(stop)
