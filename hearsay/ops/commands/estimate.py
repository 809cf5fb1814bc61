"""`hearsay estimate`: the estimator."""

import logging
import socket
import tempfile
from pathlib import Path

import click

from hearsay.collector import logs
from hearsay.collector.addresses import is_loopback
from hearsay.collector.roles import ESTIMATOR
from hearsay.estimator.serving.service import EstimatorSettings, serve
from hearsay.ops.config import Settings
from hearsay.ops.errors import ConfigurationError
from hearsay.ops.server.connection import open_registry_patiently
from hearsay.ops.terminal.options import uses_of
from hearsay.ops.terminal.stopping import stopping


@click.command()
@click.option(
    "--truth",
    type=click.Path(path_type=Path, file_okay=False),
    help="A directory with the true values of simulated devices, drawn as a thin line; for demonstrations.",
)
@uses_of(ESTIMATOR)
def command(settings: Settings, truth: Path | None) -> None:
    """Materialise estimates, write snapshots, serve the page, metrics and the API.

    Serves the page at /, /metrics, /healthz, /readyz and /api/surveys. With HEARSAY_API_TOKEN, which a --host beyond
    this machine needs, all but /healthz and the page's own files ask for that token. Snapshots are written to
    the data directory and, shortened, to Redis. Several estimators share the surveys.
    """
    logs.configure(ESTIMATOR.name, settings.log_level)
    if settings.api_token is None and _reached_from_elsewhere(settings.host):
        raise ConfigurationError(
            f"host {settings.host} can be reached from other machines: set HEARSAY_API_TOKEN to a secret that readers "
            "send as Authorization: Bearer, or use --host 127.0.0.1"
        )
    _check_writable(settings.snapshots_dir)
    with stopping() as stop:
        registry = open_registry_patiently(settings, stop, ESTIMATOR)
        if registry is None:
            return
        logging.getLogger(__name__).info("estimating", extra={"settings": settings.chosen()})
        serve(registry, stop, settings.part(EstimatorSettings), truth)


def _reached_from_elsewhere(host: str) -> bool:
    """Whether other machines may reach this address; what is no address at all is refused when it is listened on."""
    try:
        socket.getaddrinfo(host, None)
    except (OSError, UnicodeError):
        return False
    return not is_loopback(host)


def _check_writable(snapshots: Path) -> None:
    """Refuse at the start a directory in which no snapshot could be written."""
    try:
        snapshots.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=snapshots):
            pass
    except OSError as error:
        raise ConfigurationError(
            what="data-dir",
            expected="a directory that can be written to",
            got=str(snapshots.parent),
            ending=f": {error.strerror or error}",
        ) from None
