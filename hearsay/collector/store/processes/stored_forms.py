"""The newest layouts of deltas and accumulators that were ever written here; jobs come and go, and are not noted."""

from hearsay.collector.store import keys
from hearsay.collector.store.processes.versions import OLDEST, Forms
from hearsay.collector.store.servers.servers import Servers, place_of

KINDS = ("deltas", "accumulators")


class StoredForms:
    """What a release must be able to read."""

    def __init__(self, servers: Servers, prefix: str) -> None:
        self._key = keys.forms(prefix)
        self._place = place_of(servers, self._key)

    def get(self) -> Forms:
        """What was written so far."""
        stored = self._place.node.do("HMGET", self._key, *KINDS)
        return OLDEST._replace(**{kind: int(form) for kind, form in zip(KINDS, stored, strict=True) if form})

    def note(self, forms: Forms) -> None:
        """Note layouts before they are written; they never sink."""
        noted = self.get()
        for kind in KINDS:
            if getattr(forms, kind) > getattr(noted, kind):
                self._place.node.do("HSET", self._key, kind, getattr(forms, kind))
