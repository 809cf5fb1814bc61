"""Requests as a gateway gets them: bodies of every mechanism, and the texts of ids and keys.

Some bodies are decoded together, most of them damaged: each is read or malformed, and a good one among them is never
touched by the others.
"""

from random import Random

import msgpack

from hearsay.collector.gateway import bodies, ids
from hearsay.collector.gateway.refusals import Refusal
from hearsay.collector.store.api_keys import id_of
from hearsay.producer.request_id import new_request_id
from tests.fuzz.octets import damaged
from tests.fuzz.tally import Tally
from tests.fuzz.wire import REASONS, Kind, kinds

TOGETHER = 6


def run(tally: Tally, seed: int, cases: int) -> None:
    """So many batches of bodies, and as many ids."""
    random = Random(seed)
    for _ in range(cases // 2):
        kind = random.choice(kinds())
        requests = [_body(random, kind) for _ in range(TOGETHER)]
        tally.run((kind.name, requests), lambda kind=kind, requests=requests: _decode(kind, requests))  # type: ignore[misc]
        text = damaged(random, new_request_id().encode())
        tally.run(text, lambda text=text: _identity(text))  # type: ignore[misc]


def _body(random: Random, kind: Kind) -> bytes:
    reports = [random.choice(kind.singles) for _ in range(random.choice((1, 1, 2, 15, 16)))]
    if random.random() < 0.3:
        reports[random.randrange(len(reports))] = damaged(random, reports[0], kind.frames)
    body: bytes = msgpack.packb(reports)
    return damaged(random, body, kind.singles) if random.random() < 0.5 else body


def _decode(kind: Kind, requests: list[bytes]) -> str:
    good = msgpack.packb(kind.singles[:3])
    taken = [body for body in requests if _is_claimed(body)]
    decoded = bodies.decode([*taken, good], kind.mechanism, kind.wire)
    assert set(decoded.reasons) <= REASONS
    assert len(taken) not in decoded.malformed
    assert (int(decoded.accepted[-1]), int(decoded.rejected[-1])) == (3, 0)
    assert int(decoded.accepted.sum()) == len(decoded.owners)
    assert int(decoded.rejected.sum()) == decoded.reasons.total()
    assert decoded.rejected.min() >= 0
    if kind.state is not None:
        kind.mechanism.fold(kind.state, decoded.reports)
    return "read" if len(taken) == len(requests) and not decoded.malformed else "refused in part"


def _is_claimed(body: bytes) -> bool:
    try:
        return 1 <= bodies.claimed(body) <= bodies.MOST_REPORTS
    except Refusal as refusal:
        assert refusal.code in ("malformed", "too-large")  # noqa: PT017
        return False


def _identity(text: bytes) -> str:
    assert id_of(text.decode("latin-1")) is None
    try:
        parsed = ids.parse(text, int(new_request_id().replace("-", "")[:12], 16))
    except Refusal as refusal:
        assert refusal.code in ("bad-id", "too-early", "too-late")  # noqa: PT017
        return "refused"
    assert len(parsed.packed(b"", None)) == 12
    return "accepted"
