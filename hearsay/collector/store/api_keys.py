"""API keys of the gateway: who may send reports, and to which survey. Redis stores only their hashes.

The text of a key is `hsk_<id>_<256 bits>`. The id names the key in lists and logs; the text is shown once, when the key
is made.
"""

import hmac
import json
import re
import secrets
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from hearsay.collector.errors import CollectorError
from hearsay.collector.store import keys
from hearsay.collector.store.registry import Registry

SECRET_BYTES = 32
_KEY = re.compile(r"hsk_(?P<id>[0-9a-f]{12})_[A-Za-z0-9_-]{43}")


class UnknownKey(CollectorError):
    """No key of that id exists."""

    CODE = "unknown-key"


@dataclass(frozen=True)
class ApiKey:
    """A key as it is stored. Without `survey` it is valid for every survey."""

    id: str
    name: str
    survey: str | None
    sha256: str
    created: str

    def opens(self, text: str) -> bool:
        """Whether this text is the key, compared in constant time."""
        return hmac.compare_digest(_hash(text), self.sha256)


def id_of(text: str) -> str | None:
    """The id in the text of a key; None if the text is no key."""
    match = _KEY.fullmatch(text)
    return None if match is None else match["id"]


def add(registry: Registry, name: str, survey: str | None = None) -> tuple[ApiKey, str]:
    """A new key and its text, which is not stored."""
    if survey is not None:
        registry.get(survey)  # raises if there is no such survey
    identity = secrets.token_hex(6)
    text = _text(identity)
    key = ApiKey(identity, name, survey, _hash(text), _now())
    _put(registry, key)
    return key, text


def every(registry: Registry) -> list[ApiKey]:
    """All keys, oldest first."""
    records = _ask(registry, "HGETALL").values()
    return sorted((ApiKey(**json.loads(record)) for record in records), key=lambda key: (key.created, key.id))


def revoke(registry: Registry, identity: str) -> None:
    """Delete a key; gateways refuse it within seconds, when they read the keys again."""
    if not _ask(registry, "HDEL", identity):
        raise _unknown(identity)


def rotate(registry: Registry, identity: str) -> tuple[ApiKey, str]:
    """A new text for the same key; gateways refuse the old one within seconds."""
    record = _ask(registry, "HGET", identity)
    if record is None:
        raise _unknown(identity)
    text = _text(identity)
    key = replace(ApiKey(**json.loads(record)), sha256=_hash(text), created=_now())
    _put(registry, key)
    return key, text


def _put(registry: Registry, key: ApiKey) -> None:
    _ask(registry, "HSET", key.id, json.dumps(asdict(key)))


def _ask(registry: Registry, command: str, *words: str) -> Any:
    return registry.do(command, keys.api_keys(registry.prefix), *words)


def _text(identity: str) -> str:
    return f"hsk_{identity}_{secrets.token_urlsafe(SECRET_BYTES)}"


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _unknown(identity: str) -> UnknownKey:
    return UnknownKey(f"no key has the id {identity!r}; hearsay key list shows the ids of all keys")
