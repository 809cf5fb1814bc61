"""The registry behind the settings' server, and RQ's server: at once for commands, patiently for services."""

import logging
import time
from collections.abc import Callable
from threading import Event
from typing import TypeVar, cast

from redis import Redis
from redis.exceptions import ConnectionError, TimeoutError

from hearsay.collector.agreement import check_stored
from hearsay.collector.errors import (
    LoginRefused,
    NoQueueThere,
    ServerError,
    StillLoading,
    TooOld,
    UnknownSurvey,
    WrongURL,
)
from hearsay.collector.logs import RepeatedWarnings
from hearsay.collector.plugins import load_plugins
from hearsay.collector.roles import Role
from hearsay.collector.store.client import Client
from hearsay.collector.store.connect import connect_queue, open_servers
from hearsay.collector.store.registry import Registry
from hearsay.collector.store.servers.permitted import check_queue_rights, check_rights
from hearsay.errors import nearest
from hearsay.ops.config import Settings

Opened = TypeVar("Opened")
PATIENCE_S = 30.0  # services start together with the server; the time in which it reads a long AOF does not count
_LOG = logging.getLogger("hearsay.server")


class _OperatorsRegistry(Registry):
    """The registry as commands see it: an unknown name is answered with the nearest, which no device may read."""

    def unknown(self, name: str) -> UnknownSurvey:
        names = self.names()
        if not names:
            return UnknownSurvey(f"survey {name!r} is not registered, no survey is; hearsay survey add FILE")
        if near := nearest(name, names, cutoff=0.5):
            return UnknownSurvey(f"survey {name!r} is not registered; the nearest: {', '.join(near)}")
        return super().unknown(name)


def open_registry(settings: Settings, kind: type[Registry] = _OperatorsRegistry) -> Registry:
    """The surveys of the server that the settings name."""
    load_plugins(settings.plugins)
    registry = kind(open_servers(settings.with_password().redis_url), settings.prefix)
    check_stored(registry)
    return registry


def open_registry_patiently(settings: Settings, stop: Event, role: Role) -> Registry | None:
    """The same for a service: waits a while for a server that is still starting; None where `stop` is set meanwhile.

    A URL of no server and a refused login are errors at once, and so is a user without the rights of the role.
    """
    registry = _patiently(lambda: open_registry(settings, Registry), stop)
    if registry is not None:
        check_rights(registry, role)
    return registry


def open_queue_patiently(settings: Settings, stop: Event, role: Role) -> Redis | None:
    """RQ's server, waited for in the same way; one that RQ cannot run on is an error at once."""
    connection = _patiently(lambda: connect_queue(settings.with_password().queue_url), stop)
    if connection is not None:
        check_queue_rights(cast(Client, connection), role)
    return connection


def _patiently(connect: Callable[[], Opened], stop: Event) -> Opened | None:
    deadline, warnings = time.monotonic() + PATIENCE_S, RepeatedWarnings(_LOG)
    while not stop.is_set():
        try:
            return connect()
        except (WrongURL, LoginRefused, TooOld, NoQueueThere):
            raise
        except StillLoading as error:
            deadline = time.monotonic() + PATIENCE_S
            warnings.warning(str(error))
        except (ServerError, ConnectionError, TimeoutError) as error:  # the server may end between two commands
            if time.monotonic() > deadline:
                raise
            warnings.warning(f"waiting for the server, up to {PATIENCE_S:g} s: {error}")
        stop.wait(0.2)
    return None
