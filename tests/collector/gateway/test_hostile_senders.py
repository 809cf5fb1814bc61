"""5% liars, replayers, malformed and flooding senders at once: answers stay within the bound that is stated."""

import msgpack
import numpy as np
import redis

from hearsay.collector.describe.attackers import moved_by
from hearsay.collector.store import api_keys
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.mechanisms import build
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.workers.context import Context, set_current
from tests.collector.gateway.running import gateway, identity
from tests.pipeline import fold_all, state_of

HONEST, LIARS, SIZE, TARGET = 1_900, 100, 64, 3
SURVEY = {"name": "likes", "mechanism": "hrr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": SIZE}}


def test_honest_answers_stay_within_the_stated_bound(client: redis.Redis, prefix: str) -> None:
    set_current(Context(client, prefix))
    registry = Registry(client, prefix)
    asked = registry.add(parse(SURVEY))
    mechanism, encode = asked.survey.mechanism, codec(asked.survey.mechanism).encode_singles
    people, flood = (f"Bearer {api_keys.add(registry, name)[1]}" for name in ("people", "flood"))
    values = np.random.default_rng(1).integers(8, SIZE, HONEST)
    honest = mechanism.perturb(values, seeded(2))
    # Whoever never lies to the coin supports the target with every report.
    lies = build({**SURVEY, "epsilon": 40.0}).perturb(np.full(LIARS, TARGET), seeded(3))
    truth = mechanism.estimate(mechanism.fold(mechanism.empty(), honest))
    with gateway(client, prefix, keys=True, key_rate=2_000.0) as sender:
        bodies = encode(honest)
        for start in range(0, HONEST, 100):
            same, reports = identity(), bodies[start : start + 100]
            for _ in range(3):  # replayed: answered as the first was, and counted once
                assert sender.send_reports(reports, "likes", id=same, authorization=people).status_code == 202
            lie = encode(lies)[:1]
            assert sender.code(lie, "likes", id=same, authorization=people) == "id-reused"
        for lie in encode(lies):
            assert sender.send_reports([lie], "likes", authorization=people).status_code == 202
        for body in (b"\x91", msgpack.packb([b"\xc1"] * 50), msgpack.packb([b"\xcd\xff\xff"] * 50), b"x" * 100):
            sender.send_reports(body, "likes", authorization=people)
    with gateway(client, prefix, keys=True, key_rate=5.0) as sender:
        codes = [sender.code([lie], "likes", authorization=flood) for lie in encode(lies)]
    stored = codes.count("202")  # what a flood's key may send counts as more liars
    assert codes.count("rate") > LIARS / 2
    store = asked.shards[0]
    fold_all(store)
    state = state_of(store)
    assert mechanism.reports(state) == HONEST + LIARS + stored
    moved = mechanism.estimate(state).estimate - truth.estimate
    bound = moved_by(asked.survey, LIARS + stored, HONEST + LIARS + stored)["point"]
    assert moved[TARGET] == moved.max() > bound / 5, "the liars did move their cell"
    assert np.abs(moved).max() <= bound
