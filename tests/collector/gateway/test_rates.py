"""Rates by address and by key; addresses are kept as hashes only."""

import time
from contextlib import suppress

import pytest
import redis

from hearsay.collector.addresses import is_loopback
from hearsay.collector.gateway import rates
from hearsay.collector.gateway.rates import Buckets, Rates
from hearsay.collector.gateway.refusals import Refusal
from hearsay.collector.store import api_keys
from hearsay.collector.store.registry import Registry
from tests.collector.gateway.running import gateway, reports_of
from tests.pipeline import buckets


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def taken(take: object, name: object, most: int = 1_000) -> int:
    """How many requests are let through at once."""
    with suppress(Refusal):
        for count in range(most):
            refused_at = count
            take(name)  # type: ignore[operator]
        return most
    return refused_at


def test_a_bucket_lets_a_burst_through_and_then_its_rate() -> None:
    clock = Clock()
    limited = Buckets(10.0, clock)
    assert taken(limited.take, b"a") == 20
    with pytest.raises(Refusal) as refused:
        limited.take(b"a")
    assert (refused.value.code, refused.value.headers["Retry-After"]) == ("rate", "1")
    assert taken(limited.take, b"b") == 20  # others have their own
    clock.now += 0.5
    assert taken(limited.take, b"a") == 5
    clock.now += 1_000.0
    assert taken(limited.take, b"a") == 20


def test_no_rate_is_no_limit() -> None:
    assert taken(Buckets(0.0).take, b"a") == 1_000


def test_buckets_do_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "MOST_BUCKETS", 100)
    clock = Clock()
    limited = Buckets(1.0, clock)
    for number in range(1_000):
        limited.take(b"%d" % number)
        clock.now += 0.001
    assert len(limited._left) <= 101


def test_addresses_are_hashed_with_a_secret_that_changes() -> None:
    clock = Clock()
    limited = Rates(10.0, 0.0, clock)
    assert taken(limited.of_address, "192.0.2.7") == 20
    first = set(limited._addresses._left)
    assert not any(b"192.0.2.7" in name for name in first)
    clock.now += rates.SECRET_S + 1
    limited.of_address("192.0.2.7")
    assert len(set(limited._addresses._left) - first) == 1
    assert "192.0.2.7" not in repr(vars(limited))


@pytest.mark.parametrize("address", ["127.0.0.1", "127.1.2.3", "::1", None])
def test_this_machine_is_not_limited(address: str | None) -> None:
    assert taken(Rates(1.0, 1.0).of_address, address) == 1_000


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("example.org", False),
    ],
)
def test_what_is_loopback(host: str, here: bool) -> None:
    assert is_loopback(host) == here


def test_a_key_is_limited(client: redis.Redis, prefix: str) -> None:
    asked = buckets(client, prefix, 10)
    _, text = api_keys.add(Registry(client, prefix), "phones")
    with gateway(client, prefix, keys=True, key_rate=2.0) as sender:
        started = time.monotonic()
        codes = [sender.code(reports_of(asked.survey, [1]), authorization=f"Bearer {text}") for _ in range(30)]
        allowed = 4 + 2 * (time.monotonic() - started)
    assert set(codes) == {"202", "rate"}
    assert codes.count("202") <= allowed + 1
