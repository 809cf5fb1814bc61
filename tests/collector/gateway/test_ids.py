"""Ids of requests: what a header may say, and what follows from it."""

import uuid

import pytest
import redis

from hearsay.collector.gateway import ids
from hearsay.collector.gateway.refusals import Refusal
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from tests.collector.gateway.running import identity
from tests.identity import survey_table

GOOD = b"01890a5d-ac96-774b-bcce-b302099a8057"  # the example of RFC 9562's text form, from July 2023
NOW_MS = 0x01890A5DAC96


def test_an_id_is_its_16_bytes_and_their_time() -> None:
    parsed = ids.parse(GOOD, NOW_MS)
    assert parsed.octets == uuid.UUID(GOOD.decode()).bytes
    assert parsed.time_ms == NOW_MS
    assert parsed.hour == NOW_MS // 3_600_000
    assert ids.parse(GOOD.upper(), NOW_MS) == parsed


@pytest.mark.parametrize(
    "text",
    [
        None,
        b"",
        b"1",
        GOOD[:-1],
        GOOD + b"0",
        GOOD.replace(b"-", b""),
        GOOD.replace(b"-774b", b"-474b"),  # version 4
        GOOD.replace(b"-bcce", b"-ccce"),  # another variant
        GOOD.replace(b"01890a5d", b"01890a5 "),
        GOOD.replace(b"01890a5d", b"  890a5d"),
        GOOD.replace(b"01890a5d", b"0189\xe9a5d"),
        b"{" + GOOD[:34] + b"}",
    ],
)
def test_anything_else_is_a_bad_id(text: bytes | None) -> None:
    with pytest.raises(Refusal) as refused:
        ids.parse(text, NOW_MS)
    assert refused.value.code == "bad-id"


@pytest.mark.parametrize(
    ("ahead_ms", "code"),
    [(3_600_001, "too-early"), (3_600_000, None), (0, None), (-86_400_000, None), (-86_400_001, "too-late")],
)
def test_an_id_lives_from_an_hour_ahead_to_a_day_ago(ahead_ms: int, code: str | None) -> None:
    if code is None:
        ids.parse(GOOD, NOW_MS - ahead_ms)
        return
    with pytest.raises(Refusal) as refused:
        ids.parse(GOOD, NOW_MS - ahead_ms)
    assert refused.value.code == code


def test_the_digest_depends_on_body_round_and_the_whole_id() -> None:
    first = ids.parse(GOOD, NOW_MS)
    same_end = ids.parse(GOOD.replace(b"ac96", b"ac97"), NOW_MS)
    assert first.packed(b"a", None) == first.packed(b"a", None)
    assert first.packed(b"a", None)[:8] == first.octets[8:] == same_end.packed(b"a", None)[:8]
    different = {
        first.packed(b"a", None),
        first.packed(b"b", None),
        first.packed(b"a", 1),
        first.packed(b"a", 2),
        same_end.packed(b"a", None),  # so that who reads 8 bytes of an id cannot try bodies
    }
    assert len(different) == 5
    assert {len(packed) for packed in different} == {12}


def test_every_copy_of_a_request_goes_to_the_same_shard_and_all_shards_get_as_many(
    client: redis.Redis, prefix: str
) -> None:
    registered = Registry(client, prefix).add(parse(survey_table("identity", 10)), 3)
    now_ms = int(identity().replace("-", "")[:12], 16)
    chosen = [ids.parse(identity().encode(), now_ms).shard(registered) for _ in range(3_000)]
    assert all(abs(chosen.count(shard) - 1_000) < 160 for shard in registered.shards)  # six standard deviations
    assert ids.parse(GOOD, NOW_MS).shard(registered) is ids.parse(GOOD, NOW_MS).shard(registered)
