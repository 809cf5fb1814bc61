"""The registry behind the settings' server: at once for commands, patiently for services."""

import time
from threading import Event

from hearsay.collector.agreement import check_stored
from hearsay.collector.errors import ServerError, TooOld, UnknownSurvey
from hearsay.collector.plugins import load_plugins
from hearsay.collector.store.connect import open_servers
from hearsay.collector.store.registry import Registry
from hearsay.errors import nearest
from hearsay.ops.config import Settings

PATIENCE_S = 30.0  # services start together with the server, which may have a long AOF to read


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


def open_registry_patiently(settings: Settings, stop: Event) -> Registry | None:
    """The same for a service: waits a while for a server that is still starting; None where `stop` is set meanwhile."""
    deadline = time.monotonic() + PATIENCE_S
    while not stop.is_set():
        try:
            return open_registry(settings, Registry)
        except TooOld:
            raise
        except ServerError:
            if time.monotonic() > deadline:
                raise
        stop.wait(0.2)
    return None
