"""Who may send: keys as this process knows them, read anew every few seconds."""

from collections.abc import Mapping

from hearsay.collector.gateway.refusals import Refusal
from hearsay.collector.store import api_keys
from hearsay.collector.store.api_keys import ApiKey
from hearsay.collector.store.registry import Registry

REFRESH_S = 2.0  # a revoked key is refused everywhere within 5 s


class Keys:
    """The keys that there are. Without `needed` every request is let in."""

    def __init__(self, needed: bool) -> None:
        self.needed = needed
        self._keys: Mapping[str, ApiKey] = {}

    def refresh(self, registry: Registry) -> None:
        """Read all keys; called from a thread."""
        if self.needed:
            self._keys = {key.id: key for key in api_keys.every(registry)}

    def check(self, header: bytes | None, survey: str) -> ApiKey | None:
        """The key in a header Authorization, if keys are needed; Refusal where it does not open this survey."""
        if not self.needed:
            return None
        scheme, _, text = (header or b"").decode("latin-1").partition(" ")
        identity = api_keys.id_of(text)
        key = None if identity is None else self._keys.get(identity)
        if scheme.lower() != "bearer" or key is None or not key.opens(text):
            raise Refusal("key", "the header Authorization must be: Bearer KEY, with a key of `hearsay key add`")
        if key.survey not in (None, survey):
            raise Refusal("not-for-key", f"the key {key.id} is not for survey {survey}")
        return key
