"""The page about the data model names every key that the pipeline writes, and no other."""

import re
from pathlib import Path

import pytest
import redis

from hearsay.collector import limits
from hearsay.collector.dispatch.dispatcher import CollectorSettings, Dispatcher
from hearsay.collector.store import api_keys, scripts
from hearsay.collector.store.processes.gateway_counts import REQUESTS
from hearsay.collector.store.processes.versions import OLDEST
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from tests.pipeline import buckets, cut_all, fold, queue_of, singles
from tests.rounds import rounds_table, two_rounds_known

__all__ = ["two_rounds_known"]

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "data-model.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([a-z]+[a-z:<>]*)` \| (hash|string|stream|set|list) \|", PAGE, re.MULTILINE)


def pattern(documented: str) -> re.Pattern[str]:
    """A documented key as a pattern, with or without the shard's part."""
    return re.compile(r"[^:]+:(?:\{[^}]+\}:)?" + re.sub(r"<[a-z]+>", r"[^:]+", documented))


def test_every_key_is_documented_with_its_type(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PART_BYTES", 16)
    monkeypatch.setattr(limits, "RANGE_SINGLES", 10)
    registered = buckets(client, prefix, 100)
    store = registered.shards[0]
    Writer(store).publish([(b"r", b"\xc1"), *singles(store, range(50))], 51)
    first, *others, last, _ = cut_all(store)  # one stays outstanding
    assert fold(store, first) == "ok"
    assert store.compact(store.read("all"))
    assert {fold(store, found) for found in others} == {"ok"}
    assert store.skip_range(last) > 0
    store.put_snapshot("all", 1, b"{}", "here:var")
    Writer(store).publish(singles(store, [1]), 1)  # waits to be cut
    store.publish("gateway", 1, singles(store, [2]), 1, ids={482_000: b"12 bytes: id"})
    Registry(client, prefix).add(parse(rounds_table(4)))
    api_keys.add(Registry(client, prefix), "phones")
    Registry(client, prefix).gateway_counts.add({REQUESTS: 1})
    Registry(client, prefix).complaints.complain("estimator", "buckets", "no space left")
    Registry(client, prefix).stored_forms.note(OLDEST._replace(deltas=OLDEST.deltas + 1))
    Dispatcher(client, queue_of(client), CollectorSettings(prefix, queue=prefix)).chores()

    seen = set()
    for key in client.scan_iter(match=f"{prefix}:*"):
        found = [(name, kind) for name, kind in ROWS if pattern(name).fullmatch(key.decode())]
        assert len(found) == 1, f"{key!r} is documented {len(found)} times"
        assert client.type(key).decode() == found[0][1]
        seen.add(found[0][0])
    assert seen == {name for name, _ in ROWS}


def test_every_script_has_its_argument() -> None:
    for name in scripts.NAMES:
        assert f"| {name.upper()} | " in PAGE
        assert f"**{name.upper()}.**" in PAGE
