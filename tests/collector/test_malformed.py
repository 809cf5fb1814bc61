"""Malformed entries on a real server: each refused and counted, none in the way of its neighbours, none kept."""

import hashlib
from collections import Counter
from typing import Any

import msgpack
import numpy as np
import pytest
import redis

from hearsay.collector import limits
from hearsay.collector.store.registry import Registry
from hearsay.collector.store.shard import Shard
from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.collector.wire.decode import decode
from hearsay.collector.writer import Entry, Writer
from hearsay.mechanisms import Mechanism, Reports, build
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.workers.context import Context, set_current
from tests.collector.malformed import Bad, Workshop
from tests.mechanisms.shared import LISTED_CASES, Case, skewed_cells
from tests.pipeline import cut_all, fold

SURVEYS: dict[str, dict[str, Any]] = {
    "integers": {"mechanism": "hrr", "domain": {"kind": "categorical", "size": 1_000}},
    "bins": {"mechanism": "oue", "domain": {"kind": "categorical", "size": 61}},
    "subsets": {"mechanism": "ss", "domain": {"kind": "categorical", "size": 40}},
    "levels": {"mechanism": "haar", "domain": {"kind": "ordinal", "size": 64}},
    "levels of bins": {
        "mechanism": "hierarchical",
        "domain": {"kind": "ordinal", "size": 64},
        "options": {"oracle": "oue"},
    },
}
CASES_EACH = 2_500  # 12,500 in all


def add_survey(client: redis.Redis, prefix: str, table: dict[str, Any], keep_payloads: bool = False) -> Shard:
    set_current(Context(client, prefix, keep_payloads))
    return Registry(client, prefix).add(parse({"name": "fuzzed", "epsilon": 1.1, **table})).shards[0]


def publish(store: Shard, entries: list[Entry], reports: int) -> None:
    writer = Writer(store)
    for start in range(0, len(entries), 1_000):
        writer.publish(entries[start : start + 1_000], reports)


def everything_stored(client: redis.Redis) -> dict[bytes, bytes]:
    """All that the server holds, key by key, as one string each."""
    found = {}
    for key in client.scan_iter(count=1_000):
        kind = client.type(key)
        parts: list[bytes]
        if kind == b"stream":
            parts = [part for _, fields in client.xrange(key) for pair in fields.items() for part in pair]
        elif kind == b"hash":
            parts = [part for pair in client.hgetall(key).items() for part in pair]
        elif kind == b"set":
            parts = list(client.smembers(key))
        elif kind == b"list":
            parts = client.lrange(key, 0, -1)
        else:
            parts = [client.get(key)]
        found[key] = b"\x00".join(parts)
    return found


@pytest.mark.parametrize("name", SURVEYS)
def test_thousands_of_malformed_entries_between_good_neighbours(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(limits, "RANGE_SINGLES", 400)
    monkeypatch.setattr(limits, "RANGE_FRAMES", 200)
    monkeypatch.setattr(limits, "DEAD_LETTERS_KEPT", 300)
    store = add_survey(client, prefix, SURVEYS[name])
    mechanism, wire = store.survey.mechanism, codec(store.survey.mechanism)
    reports = mechanism.perturb(skewed_cells(mechanism, CASES_EACH), seeded(31))
    neighbours = wire.encode_singles(reports)
    bad = list(Workshop(mechanism, reports, seed=32).entries(CASES_EACH))
    publish(
        store, [entry for b, n in zip(bad, neighbours, strict=True) for entry in ((b.field, b.payload), (b"r", n))], 1
    )

    ranges = cut_all(store)
    assert len(ranges) > 10
    assert {fold(store, found) for found in ranges} == {"ok"}

    expected = mechanism.fold(mechanism.empty(), reports)
    folded = CASES_EACH
    for kept in (entry.kept for entry in bad if entry.kept is not None):
        mechanism.fold(expected, kept)
        folded += len(next(iter(kept.values())))
    seen = store.read("all")
    assert seen.folded == folded
    for array, values in expected.items():
        np.testing.assert_array_equal(seen.state[array], values)
    assert seen.rejected.table() == tally(bad)
    assert seen.counters["entries"] == 2 * CASES_EACH

    check_dead_letters(store, bad, len(ranges))
    check_nothing_is_kept(client, store, bad)


def tally(bad: list[Bad]) -> dict[str, dict[str, int]]:
    entries, reports = Counter[str](), Counter[str]()
    for entry in bad:
        entries[entry.reason] += entry.entries
        reports[entry.reason] += entry.reports
    return {reason: {"entries": entries[reason], "reports": reports[reason]} for reason in entries}


def check_dead_letters(store: Shard, bad: list[Bad], commits: int) -> None:
    """Bounded, each with reason, length and hash of an entry that was really refused, and without its payload."""
    letters = [fields for _, fields in store.node.client.xrange(store.keys.dead)]
    assert 300 <= len(letters) <= min(500, commits * limits.DEAD_LETTERS_PER_COMMIT)  # the server trims in whole nodes
    sent = {hashlib.sha256(entry.payload).hexdigest().encode(): entry for entry in bad}
    for letter in letters:
        entry = sent[letter[b"sha256"]]
        assert letter[b"length"] == str(len(entry.payload)).encode()
        assert letter[b"payload"] == b""
        assert set(letter) == {b"entry", b"reason", b"length", b"sha256", b"payload", b"observed_ms"}


def check_nothing_is_kept(client: redis.Redis, store: Shard, bad: list[Bad]) -> None:
    """Once folded and trimmed, no byte of a malformed payload is left anywhere."""
    tokens = [entry.token for entry in bad if entry.token]
    assert len(tokens) > CASES_EACH // 5
    stored = everything_stored(client)
    stream = stored.pop(store.keys.stream.encode())
    assert all(token in stream for token in tokens[:100])  # the search does find what is there
    elsewhere = b"\x00\x00".join(stored.values())
    assert not [token for token in tokens if token in elsewhere]
    store.trim()
    assert client.xlen(store.keys.stream) == 0


def test_the_generator_covers_every_reason_and_enough_kinds() -> None:
    reasons, kinds = set(), set()
    for table in SURVEYS.values():
        mechanism = build({"epsilon": 1.1, **table})
        reports = mechanism.perturb(skewed_cells(mechanism, 50), seeded(33))
        for entry in Workshop(mechanism, reports, seed=34).entries(200):
            reasons.add(entry.reason)
            kinds.add(entry.kind)
    assert reasons == {
        "not-msgpack",
        "wrong-type",
        "wrong-length",
        "wrong-version",
        "outside-domain",
        "unknown-field",
        "impossible",
    }
    assert len(kinds) >= 30
    assert CASES_EACH * len(SURVEYS) >= 10_000


def test_payloads_of_dead_letters_are_kept_on_request(client: redis.Redis, prefix: str) -> None:
    store = add_survey(client, prefix, SURVEYS["integers"], keep_payloads=True)
    publish(store, [(b"r", b"\xc1secret"), (b"r", b"\x01")], 2)
    assert [fold(store, found) for found in cut_all(store)] == ["ok"]
    ((_, letter),) = client.xrange(store.keys.dead)
    assert letter[b"payload"] == b"\xc1secret"
    assert letter[b"reason"] == b"not-msgpack"


@pytest.mark.parametrize("field", [b"r", b"f"])
def test_an_entry_above_the_limit_is_refused_unread(client: redis.Redis, prefix: str, field: bytes) -> None:
    store = add_survey(client, prefix, SURVEYS["bins"])
    size = limits.SINGLE_BYTES if field == b"r" else limits.FRAME_BYTES
    client.xadd(store.keys.stream, {field: b"\x00" * (size + 1)})
    publish(store, [(b"r", payload) for payload in good_singles(store.survey.mechanism, 3)], 3)
    assert {fold(store, found) for found in cut_all(store)} == {"ok"}
    seen = store.read("all")
    assert seen.folded == 3
    assert seen.rejected.table() == {"too-large": {"entries": 1, "reports": 1 if field == b"r" else 0}}


def good_singles(mechanism: Mechanism, count: int) -> list[bytes]:
    return codec(mechanism).encode_singles(mechanism.perturb(skewed_cells(mechanism, count), seeded(35)))


def test_entries_with_several_or_strange_fields_written_past_the_scripts(client: redis.Redis, prefix: str) -> None:
    store = add_survey(client, prefix, SURVEYS["integers"])
    strange: list[dict[bytes, bytes]] = [
        {b"r": b"\x01", b"f": b"\x01"},
        {b"r": b"\x01", b"k": b"1"},
        {b"": b""},
        {b"\x00\xff": b"\xff" * 100},
        {b"r ": b"\x01"},
    ]
    for fields in strange:
        client.xadd(store.keys.stream, fields)
    publish(store, [(b"r", b"\x01")] * 5, 5)
    assert {fold(store, found) for found in cut_all(store)} == {"ok"}
    seen = store.read("all")
    assert seen.folded == 5
    assert seen.rejected.table() == {"unknown-field": {"entries": 5, "reports": 0}}


def random_object(generator: np.random.Generator, depth: int = 0) -> Any:
    """Anything that msgpack can say."""
    match generator.integers(0, 12 if depth < 4 else 8):
        case 0:
            return int(generator.integers(0, 1 << 63, dtype=np.uint64)) >> int(generator.integers(0, 64))
        case 1:
            return -int(generator.integers(0, 1 << 62)) >> int(generator.integers(0, 60))
        case 2:
            return float(generator.normal()) * 10.0 ** int(generator.integers(-300, 300))
        case 3:
            return [None, True, False, float("nan"), float("inf")][generator.integers(0, 5)]
        case 4:
            return generator.bytes(int(generator.integers(0, 20)))
        case 5:
            return generator.bytes(int(generator.integers(0, 9))).hex()
        case 6:
            return int(generator.integers(0, 4))
        case 7:
            return msgpack.ExtType(int(generator.integers(0, 128)), generator.bytes(int(generator.integers(0, 9))))
        case 8 | 9 | 10:
            return [random_object(generator, depth + 1) for _ in range(generator.integers(0, 5))]
        case _:
            return {int(generator.integers(0, 9)): random_object(generator, depth + 1)}


def damaged(generator: np.random.Generator, payload: bytes) -> bytes:
    """A payload with a few bytes changed, left out, doubled, or cut off."""
    octets = bytearray(payload)
    for _ in range(generator.integers(1, 4)):
        place = int(generator.integers(0, len(octets) + 1))
        match generator.integers(0, 5):
            case 0:
                octets[place : place + 1] = generator.bytes(1)
            case 1:
                del octets[place : place + int(generator.integers(1, 4))]
            case 2:
                octets[place:place] = generator.bytes(int(generator.integers(1, 4)))
            case 3:
                octets[place:place] = octets[max(0, place - 4) : place]
            case _:
                del octets[place:]
    return bytes(octets)


@pytest.mark.parametrize("case", LISTED_CASES, ids=lambda case: case.name)
def test_decoding_never_raises_and_counts_everything(case: Case) -> None:
    """Random bytes, random msgpack and damaged reports of every mechanism: refused or folded, never anything else."""
    mechanism = case.build()
    generator, wire = np.random.default_rng(36), codec(mechanism)
    reports: Reports = mechanism.perturb(skewed_cells(mechanism, 40), seeded(37))
    good = [*wire.encode_singles(reports), *[wire.encode_frame(reports)] * 40]
    entries: list[dict[bytes, bytes]] = []
    for _ in range(250):
        field = [b"r", b"f"][generator.integers(0, 2)]
        match generator.integers(0, 3):
            case 0:
                payload = generator.bytes(int(generator.integers(0, 30)))
            case 1:
                payload = msgpack.packb(random_object(generator))
            case _:
                payload = damaged(generator, good[generator.integers(0, len(good))])
        entries.append({field: payload})
    together = decode(mechanism, entries, wire)
    apart = [decode(mechanism, [entry], wire) for entry in entries]
    assert together.count == sum(decoded.count for decoded in apart)
    assert sum(map(sum, together.rejected.values())) == sum(
        sum(map(sum, decoded.rejected.values())) for decoded in apart
    )
    for entry, decoded in zip(entries, apart, strict=True):
        if b"r" in entry:
            assert decoded.count + sum(refused for _, refused in decoded.rejected.values()) == 1
        assert decoded.count or decoded.rejected
        assert bool(decoded.rejected) == bool(decoded.rejected_entries)
    if together.count:
        state = mechanism.fold(mechanism.empty(), together.reports)
        assert mechanism.reports(state) == together.count
