"""`hearsay gateway`: the way in for reports."""

import logging
import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click
import redis

from hearsay.collector import logs
from hearsay.collector.addresses import is_loopback
from hearsay.collector.gateway.processes import supervise
from hearsay.collector.gateway.service import Options, run
from hearsay.collector.http.server import listen
from hearsay.collector.roles import GATEWAY
from hearsay.collector.store.durability import DISK, check_durable
from hearsay.collector.store.registry import Registry
from hearsay.ops.config import Settings
from hearsay.ops.errors import ConfigurationError
from hearsay.ops.server.connection import open_registry_patiently
from hearsay.ops.terminal.options import uses_of
from hearsay.ops.terminal.stopping import stopping


@click.command()
@uses_of(GATEWAY)
def command(settings: Settings) -> None:
    """Accept reports over HTTP, each request once, and shuffle them.

    Devices send to /v1/surveys/NAME/reports and read /v1/surveys/NAME; /v1/ explains every address. Beyond this
    machine a key is asked for unless --no-keys says otherwise; make one with: hearsay key add NAME.
    """
    logs.configure(GATEWAY.name, settings.log_level)
    options = _options(settings)
    with stopping() as stop, listen(settings.gateway_host, settings.gateway_port, "gateway-port") as listening:

        def connect() -> Registry:
            registry = open_registry_patiently(settings, stop, GATEWAY)
            if registry is None:
                raise SystemExit(0)
            return registry

        first = connect()  # reports a missing or misconfigured server at once
        if settings.durable == DISK:  # a replica may be away for a moment: reports wait for that
            for node in first.servers.nodes():
                with suppress(redis.exceptions.RedisError):  # one that is away is asked when reports come
                    check_durable(node, DISK)
        scheme = "http" if options.certificate is None else "https"
        url = f"{scheme}://{settings.gateway_host}:{settings.gateway_port}"
        shown = {"url": url, "keys": options.keys, "settings": settings.chosen()}
        logging.getLogger(__name__).info("taking reports", extra=shown)
        if settings.gateway_processes == 1:
            run(first, options, listening)
            return
        first.servers.disconnect()  # the processes are forked: each makes connections of its own
        supervise(connect, options, listening, settings.gateway_processes, stop)


def _options(settings: Settings) -> Options:
    keys = settings.gateway_keys
    if keys is None:
        keys = not is_loopback(settings.gateway_host)
    _check_tls(settings.gateway_certificate, settings.gateway_private_key)
    return Options(
        hold_s=settings.gateway_hold_s,
        durable=settings.durable,
        keys=keys,
        origins=tuple(_origins(settings.gateway_origins or "")),
        address_rate=settings.gateway_address_rate,
        key_rate=settings.gateway_key_rate,
        certificate=settings.gateway_certificate,
        private_key=settings.gateway_private_key,
    )


def _origins(text: str) -> Iterator[str]:
    """The origins as browsers write them; another form would be one that no page ever has."""
    for given in filter(None, map(str.strip, text.split(","))):
        origin = given.lower().removesuffix("/")
        scheme, _, host = origin.partition("://")
        if origin not in ("*", "null") and (not scheme or not host or set(host) & set("/?# ")):
            raise ConfigurationError(
                what="--origins",
                expected="origins such as https://example.org or http://127.0.0.1:8000, without a path, separated "
                "by commas",
                got=repr(given),
            )
        yield origin


def _check_tls(certificate: Path | None, private_key: Path | None) -> None:
    """Say at once what is wrong with the files, and not at the first handshake."""
    if (certificate is None) != (private_key is None):
        raise ConfigurationError(what="--certificate and --private-key", expected="given together")
    if certificate is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, private_key)
    except OSError as error:  # ssl.SSLError is one
        why = error.strerror or "not a certificate and its private key"
        raise ConfigurationError(
            what="--certificate and --private-key", expected="files of PEM that belong together", ending=f": {why}"
        ) from None
