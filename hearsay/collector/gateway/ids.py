"""A request's id: a UUIDv7 in the header Idempotency-Key.

The id decides everything that must be the same for every copy of a request, whichever process meets it: its shard, the
hour under which it is remembered, and the digest that tells a repeat from another body under the same id.
"""

from hashlib import blake2b
from typing import NamedTuple

from hearsay.collector.gateway.refusals import Refusal
from hearsay.collector.limits import DEDUP_WINDOW_S
from hearsay.collector.store.registry import Registered
from hearsay.collector.store.shard import Shard

HOUR_MS = 3_600_000
EARLY_MS = HOUR_MS  # how far ahead a device's clock may be
OLD_MS = 1_000 * DEDUP_WINDOW_S
_TEXT, _DASHES = 36, (8, 13, 18, 23)
_WRONG = "Idempotency-Key must be a UUIDv7 such as 01890a5d-ac96-774b-bcce-b302099a8057"


class RequestId(NamedTuple):
    """16 bytes: 48 bits of time in milliseconds, then 74 random bits, between them version and variant."""

    octets: bytes
    time_ms: int

    @property
    def hour(self) -> int:
        """The hour since 1970 under which the id is remembered."""
        return self.time_ms // HOUR_MS

    def shard(self, registered: Registered) -> Shard:
        """The shard that gets the request; by random bits, so that all get as many."""
        return registered.for_request(self.time_ms, int.from_bytes(self.octets[8:], "big"))

    def packed(self, body: bytes, round_number: int | None) -> bytes:
        """What PUBLISH remembers: 8 random bytes of the id and 4 of a digest of id, round and body.

        The id is part of the digest as its key. A reader of Redis knows 8 of its 16 bytes and the hour: 34 bits of it
        are left to guess, more than the digest has, so that the digest tells nothing about a body with few values.
        """
        salt = b"" if round_number is None else b"%d" % round_number
        return self.octets[8:] + blake2b(body, digest_size=4, key=self.octets, salt=salt).digest()


def parse(text: bytes | None, now_ms: float) -> RequestId:
    """The id in a header; Refusal where it is none, too old, or from the future."""
    if text is None or len(text) != _TEXT or any(text[at] != 0x2D for at in _DASHES):
        raise Refusal("bad-id", _WRONG)
    try:
        octets = bytes.fromhex(text.replace(b"-", b"").decode("ascii"))
    except ValueError:
        raise Refusal("bad-id", _WRONG) from None
    if len(octets) != 16 or octets[6] >> 4 != 7 or octets[8] >> 6 != 2:
        raise Refusal("bad-id", _WRONG)
    time_ms = int.from_bytes(octets[:6], "big")
    if time_ms > now_ms + EARLY_MS:
        raise Refusal("too-early", "Idempotency-Key is over an hour ahead of the gateway's clock; check the device's")
    if time_ms < now_ms - OLD_MS:
        raise Refusal("too-late", "Idempotency-Key is over a day behind the gateway's clock; check the device's")
    return RequestId(octets, time_ms)


def expired() -> Refusal:
    """The server has deleted the ids of that hour: nobody knows any more whether such a request was stored."""
    return Refusal("expired", "Idempotency-Key is over a day old; nobody knows any more whether its reports are stored")
