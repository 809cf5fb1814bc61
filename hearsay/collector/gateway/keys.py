"""Who may send reports: a copy of all API keys, read from Redis every `REFRESH_S` seconds."""

from collections.abc import Mapping

from hearsay.collector.gateway.refusals import Refusal
from hearsay.collector.store import api_keys
from hearsay.collector.store.api_keys import ApiKey
from hearsay.collector.store.registry import Registry

REFRESH_S = 2.0  # so that every gateway refuses a revoked key within 5 s, a slow answer of Redis included


class Keys:
    """All API keys. If they are not `required`, every request is let in."""

    def __init__(self, required: bool) -> None:
        self.required = required
        self._keys: Mapping[str, ApiKey] = {}

    def refresh(self, registry: Registry) -> None:
        """Read all keys from Redis; blocks, so it is called from a thread."""
        if self.required:
            self._keys = {key.id: key for key in api_keys.every(registry)}

    def check(self, header: bytes | None, survey: str) -> ApiKey | None:
        """The key that the header Authorization has; None if keys are not required.

        Raises Refusal if there is no valid key, or if it is for another survey.
        """
        if not self.required:
            return None
        scheme, _, text = (header or b"").decode("latin-1").partition(" ")
        identity = api_keys.id_of(text)
        key = None if identity is None else self._keys.get(identity)
        if scheme.lower() != "bearer" or key is None or not key.opens(text):
            raise Refusal("key", "the header Authorization must be: Bearer KEY, with a key of `hearsay key add`")
        if key.survey not in (None, survey):
            raise Refusal("not-for-key", f"the key {key.id} is not for survey {survey}")
        return key
