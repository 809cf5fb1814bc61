"""Devices that choose their key: `hearsay status` and the snapshot warn of them, under the key's own name."""

import json
from collections.abc import Callable
from pathlib import Path

import redis

from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.collector.writer import Writer
from hearsay.estimator.materialise import Materialiser
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.workers.context import Context, set_current
from tests.pipeline import fold_all

Hearsay = Callable[..., tuple[int, str, str]]
KEYS = ["ikiru", "psycho", "stalker"]
FILMS = {
    "name": "films",
    "mechanism": "privkv",
    "epsilon": 1.0,
    "domain": {"kind": "key-value", "keys": KEYS, "low": 1, "high": 5},
}
HONEST, ATTACKERS = 6_000, 1_000


def test_keys_that_are_chosen_are_warned_of(client: redis.Redis, prefix: str, hearsay: Hearsay, tmp_path: Path) -> None:
    set_current(Context(client, prefix))
    registry = Registry(client, prefix)
    store = registry.add(parse(FILMS)).shards[0]
    mechanism, estimator = store.survey.mechanism, Materialiser(registry, tmp_path)
    columns = {"device": list(range(HONEST)), "key": ["psycho"] * HONEST, "value": [5.0] * HONEST}
    pairs = mechanism.domain.read(columns)
    honest = list(codec(mechanism).encode_singles(mechanism.perturb(pairs, seeded(3))))
    writer = Writer(store)

    def told(payloads: list[bytes]) -> tuple[list[str], str]:
        writer.publish([(b"r", payload) for payload in payloads], len(payloads))
        fold_all(store)
        estimator.run_once()
        snapshot = json.loads((tmp_path / "films" / "all" / "snapshot.json").read_text())
        return snapshot.get("warnings", []), hearsay("status", "--interval", "0")[2]

    assert told(honest) == ([], "")
    chosen = max(set(honest), key=honest.count)  # any report is about one key: sent again and again, it is an attack
    (warning,), shown = told([chosen] * ATTACKERS)
    assert warning.startswith("keys are not named uniformly")
    assert any(f"key {key} has" in warning for key in KEYS)
    assert shown == f"films: {warning}\n"
