"""How often a key and an address may send. Kept in memory only; addresses as hashes whose secret changes hourly."""

import secrets
import time
from collections.abc import Callable
from hashlib import blake2b
from math import ceil

from hearsay.collector.gateway.refusals import Refusal

BURST_S = 2.0  # so many seconds' worth of requests may come at once
SECRET_S = 3_600.0
MOST_BUCKETS = 100_000  # beyond it the full ones are forgotten, then all


class Buckets:
    """Token buckets: `rate` requests per second each; 0: no limit."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._most, self._clock = rate, max(1.0, BURST_S * rate), clock
        self._left: dict[bytes, tuple[float, float]] = {}  # tokens, and when they were counted

    def take(self, name: bytes) -> None:
        """One request; Refusal where there were too many."""
        if not self._rate:
            return
        now = self._clock()
        tokens, counted = self._left.get(name, (self._most, now))
        tokens = min(self._most, tokens + (now - counted) * self._rate)
        if tokens < 1.0:
            self._left[name] = (tokens, now)
            wait_s = ceil((1.0 - tokens) / self._rate)
            raise Refusal("rate", f"more than {self._rate:g} requests per second; wait and send it again", wait_s)
        self._left[name] = (tokens - 1.0, now)
        if len(self._left) > MOST_BUCKETS:
            self._forget(now)

    def _forget(self, now: float) -> None:
        full = [name for name, (left, at) in self._left.items() if left + (now - at) * self._rate >= self._most]
        for name in full:
            del self._left[name]
        if len(self._left) > MOST_BUCKETS // 2:
            self._left.clear()


class Rates:
    """By address, but for those of this machine, and by key."""

    def __init__(self, per_address: float, per_key: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._addresses, self._keys, self._clock = Buckets(per_address, clock), Buckets(per_key, clock), clock
        self._off = not per_address
        self._change_secret()

    def _change_secret(self) -> None:
        self._secret, self._since = secrets.token_bytes(32), self._clock()

    def of_address(self, address: str | None) -> None:
        """One request of an address."""
        if self._off or address is None or address.startswith("127.") or address == "::1":
            return
        if self._clock() - self._since > SECRET_S:
            self._change_secret()
        self._addresses.take(blake2b(address.encode(), digest_size=16, key=self._secret).digest())

    def of_key(self, identity: str) -> None:
        """One request of a key."""
        self._keys.take(identity.encode())
