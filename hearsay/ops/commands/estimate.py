"""`hearsay estimate`: the estimator."""

import logging

import click

from hearsay.collector import logs
from hearsay.estimator.serving.service import serve
from hearsay.ops.config import Settings
from hearsay.ops.server.connection import open_registry_patiently
from hearsay.ops.terminal.options import SERVER, uses
from hearsay.ops.terminal.stopping import stopping


@click.command()
@uses(*SERVER, "data_dir", "period_s", "host", "port", "plugins", "log_level")
def command(settings: Settings) -> None:
    """Materialise estimates, write snapshots, serve metrics and the API.

    Serves /metrics, /healthz, /readyz and /api/surveys. Snapshots go under the data directory and, in short, to Redis.
    Two estimators do no harm: the newer snapshot wins.
    """
    logs.configure("estimator", settings.log_level)
    with stopping() as stop:
        registry = open_registry_patiently(settings, stop)
        if registry is None:
            return
        logging.getLogger(__name__).info("estimating", extra={"settings": settings.shown()})
        serve(
            registry,
            stop,
            root=settings.snapshots_dir,
            period_s=settings.period_s,
            host=settings.host,
            port=settings.port,
        )
