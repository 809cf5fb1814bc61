"""Keys: kept as hashes, asked for where they are needed, refused soon after they were revoked."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from hearsay.collector.errors import UnknownSurvey
from hearsay.collector.gateway import keys as module
from hearsay.collector.gateway.keys import Keys
from hearsay.collector.store import api_keys
from hearsay.collector.store.api_keys import UnknownKey
from hearsay.collector.store.registry import Registered, Registry
from tests.collector.gateway.running import Sender, gateway, reports_of
from tests.pipeline import buckets


@pytest.fixture
def asked(client: redis.Redis, prefix: str) -> Registered:
    return buckets(client, prefix, 10)


@pytest.fixture
def registry(client: redis.Redis, prefix: str, asked: Registered) -> Registry:
    return Registry(client, prefix)


@pytest.fixture
def sender(client: redis.Redis, prefix: str, asked: Registered, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sender]:
    monkeypatch.setattr("hearsay.collector.gateway.service.REFRESH_S", 0.0)
    monkeypatch.setattr("hearsay.collector.gateway.service.TICK_S", 0.05)
    with gateway(client, prefix, keys=True) as running:
        yield running


def eventually(sender: Sender, reports: list[bytes], text: str, code: str) -> None:
    deadline = time.monotonic() + 5.0
    while sender.code(reports, authorization=f"Bearer {text}") != code:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_key_is_kept_as_its_hash(registry: Registry, client: redis.Redis) -> None:
    key, text = api_keys.add(registry, "phones")
    assert key.opens(text)
    assert not key.opens(text[:-1] + ("a" if text[-1] != "a" else "b"))
    secret = text.split("_", 2)[2]
    assert len(secret) == 43  # 256 bits
    assert all(secret.encode() not in client.dump(name) for name in client.keys("*"))
    assert api_keys.every(registry) == [key]
    assert api_keys.id_of(text) == key.id


@pytest.mark.parametrize("text", ["", "hsk", "hsk_0_x", "x" * 1_000, "hsk_00000000000g_" + "a" * 43])
def test_what_is_no_key_names_none(text: str) -> None:
    assert api_keys.id_of(text) is None


def test_keys_are_asked_for(sender: Sender, registry: Registry, asked: Registered) -> None:
    good = reports_of(asked.survey, [1])
    _, text = api_keys.add(registry, "phones")
    eventually(sender, good, text, "202")
    refused = sender.send_reports(good)
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    for header in (
        "",
        "Bearer",
        f"Basic {text}",
        f"Bearer {text}x",
        f"Bearer hsk_{'0' * 12}_{'a' * 43}",
    ):
        assert sender.code(good, authorization=header) == "key"
    assert sender.code(good, authorization=f"bearer {text}") == "202"
    assert sender.get("/v1/surveys/buckets").status_code == 200  # what a survey promises is no secret


def test_a_key_of_one_survey_opens_no_other(sender: Sender, registry: Registry, asked: Registered) -> None:
    with pytest.raises(UnknownSurvey):
        api_keys.add(registry, "phones", "nobody")
    _, text = api_keys.add(registry, "phones", "buckets")
    eventually(sender, reports_of(asked.survey, [1]), text, "202")
    assert sender.code([b"x"], "other", authorization=f"Bearer {text}") == "not-for-key"


def test_a_revoked_or_rotated_key_is_refused(sender: Sender, registry: Registry, asked: Registered) -> None:
    good = reports_of(asked.survey, [1])
    (key, text), (other, other_text) = api_keys.add(registry, "one"), api_keys.add(registry, "two")
    eventually(sender, good, text, "202")
    again, new_text = api_keys.rotate(registry, key.id)
    assert (again.id, again.name) == (key.id, key.name)
    eventually(sender, good, text, "key")
    eventually(sender, good, new_text, "202")
    api_keys.revoke(registry, key.id)
    eventually(sender, good, new_text, "key")
    assert sender.code(good, authorization=f"Bearer {other_text}") == "202"
    assert api_keys.every(registry) == [other]
    for change in (api_keys.revoke, api_keys.rotate):
        with pytest.raises(UnknownKey, match="hearsay key list"):
            change(registry, key.id)


def test_keys_are_read_often_enough() -> None:
    assert module.REFRESH_S <= 4.0


def test_without_keys_every_request_is_let_in() -> None:
    assert Keys(required=False).check(None, "any") is None


def test_the_comparison_takes_as_long_wherever_they_differ(monkeypatch: pytest.MonkeyPatch, registry: Registry) -> None:
    compared: list[Any] = []
    monkeypatch.setattr("hmac.compare_digest", lambda mine, theirs: compared.append((mine, theirs)) or mine == theirs)
    key, text = api_keys.add(registry, "phones")
    keys = Keys(required=True)
    keys.refresh(registry)
    assert keys.check(b"Bearer " + text.encode(), "any") == key
    assert len(compared) == 1
