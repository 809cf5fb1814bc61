"""The newest layouts of deltas and accumulators that were written. Jobs are not noted, since none lasts."""

from hearsay.collector.store import keys
from hearsay.collector.store.processes.versions import OLDEST, Forms
from hearsay.collector.store.servers.servers import Servers, slot_of

KINDS = ("deltas", "accumulators")


class StoredForms:
    """The layouts that a release must be able to read."""

    def __init__(self, servers: Servers, prefix: str) -> None:
        self._key = keys.forms(prefix)
        self._slot = slot_of(servers, self._key)

    def get(self) -> Forms:
        """The newest layouts that were written so far."""
        stored = self._slot.node.do("HMGET", self._key, *KINDS)
        return OLDEST._replace(**{kind: int(form) for kind, form in zip(KINDS, stored, strict=True) if form})

    def note(self, forms: Forms) -> None:
        """Note layouts before they are written; a noted layout is never replaced by an older one."""
        noted = self.get()
        for kind in KINDS:
            if getattr(forms, kind) > getattr(noted, kind):
                self._slot.node.do("HSET", self._key, kind, getattr(forms, kind))
