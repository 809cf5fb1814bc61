"""Reports as they come from devices: single ones, frames, entries with and without a round, of every mechanism.

Whatever an entry holds, decoding counts it as a report or as a refusal with a known reason, and what is left can be
folded. Offers, which go the other way, are accepted or refused.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import msgpack

from hearsay.collector.errors import OfferRefused
from hearsay.collector.survey.offers import Offer
from hearsay.collector.survey.survey import Survey, parse
from hearsay.collector.wire.codec import Codec, codec
from hearsay.collector.wire.decode import AskedRound, decode
from hearsay.mechanisms import Mechanism, State
from hearsay.mechanisms.errors import MechanismError
from hearsay.mechanisms.exact.randomness import seeded
from tests.collector.layouts import LAYOUTS, draw
from tests.fuzz.octets import damaged
from tests.fuzz.tally import Tally
from tests.fuzz.trees import NUMBERS, damaged_tree
from tests.mechanisms.shared import ALL_CASES, skewed_cells

REASONS = {
    "too-large", "not-msgpack", "wrong-type", "wrong-version", "wrong-length", "outside-domain", "unknown-field",
    "late-round", "wrong-round", "impossible",
}  # fmt: skip
_ROUNDS = (b"1", b"2", b"0", b"", b"-1", b"01", b"999999999", b"9999999999", b"1.0", b"\xc2\xb2", b"\xd9\xa1", b"one")

_PLACES = (None, AskedRound(1, True), AskedRound(1, True), AskedRound(2, True), AskedRound(1, False))


@dataclass
class Kind:
    """A mechanism with good payloads, and the state that reports are folded into."""

    name: str
    mechanism: Any
    wire: Codec
    singles: list[bytes]
    frames: list[bytes]
    state: State | None


class _Anything:
    """A layout that no mechanism has, as far as decoding asks."""

    def valid(self, reports: Any) -> None:
        return None


@cache
def kinds() -> list[Kind]:
    found = []
    for case in ALL_CASES:
        mechanism: Mechanism = case.build()
        found.append(
            _kind(case.name, mechanism, codec(mechanism), mechanism.perturb(skewed_cells(mechanism, 12), seeded(7)))
        )
    for name, layout in LAYOUTS.items():
        found.append(_kind(name, _Anything(), Codec(layout), draw(layout, 12)))
    return found


def _kind(name: str, mechanism: Any, wire: Codec, reports: Any) -> Kind:
    first = {column: values[:3] for column, values in reports.items()}
    frames = [wire.encode_frame(reports), wire.encode_frame(first)]
    state = mechanism.empty() if isinstance(mechanism, Mechanism) else None
    return Kind(name, mechanism, wire, wire.encode_singles(reports), frames, state)


def entry(random: Random, kind: Kind, others: Kind) -> dict[bytes, bytes]:
    """A stream entry, mostly damaged; now and then with a round, or with fields that nobody knows."""
    single = random.random() < 0.5
    pool, foreign = (kind.singles, others.singles) if single else (kind.frames, others.frames)
    match random.randrange(8):
        case 0:
            payload = random.choice(foreign)
        case 1:
            payload = _repacked(random, random.choice(pool))
        case 2:
            payload = random.randbytes(random.choice((0, 1, 2, 5, 9, 40)))
        case 3:
            payload = random.choice(pool)
        case _:
            payload = damaged(random, random.choice(pool), foreign)
    found = {b"r" if single != (random.random() < 0.05) else b"f": payload}
    if random.random() < 0.2:
        found[b"k"] = random.choice(_ROUNDS)
    if random.random() < 0.03:
        found[random.choice((b"", b"r", b"f", b"x", b"\xff", b"R"))] = random.randbytes(3)
    if random.random() < 0.01:
        found.pop(random.choice(list(found)))
    return found


def _repacked(random: Random, payload: bytes) -> bytes:
    """The same structure with other numbers, types and depths."""
    tree = damaged_tree(random, [msgpack.unpackb(payload)])
    try:
        packed: bytes = msgpack.packb(tree[0] if isinstance(tree, list) and tree else tree)
    except (ValueError, OverflowError, UnicodeEncodeError):
        packed = msgpack.packb(
            random.choice([number for number in NUMBERS if abs(number) < 1 << 63 or number != number])
        )
    return packed


def run(tally: Tally, seed: int, cases: int) -> None:
    """Entries, one or a few at a time."""
    random = Random(seed)
    every = kinds()
    for _ in range(cases):
        kind = random.choice(every)
        entries = [entry(random, kind, random.choice(every)) for _ in range(random.choice((1, 1, 1, 2, 4)))]
        place = random.choice(_PLACES) if b"k" in entries[0] or random.random() < 0.1 else None
        tally.run((kind.name, entries, place), _decoding(kind, entries, place))


def _decoding(kind: Kind, entries: list[dict[bytes, bytes]], place: AskedRound | None) -> Callable[[], str]:
    def execute() -> str:
        found = decode(kind.mechanism, entries, kind.wire, place)
        assert set(found.rejected) <= REASONS, found.rejected
        assert found.count or found.rejected
        assert bool(found.rejected) == bool(found.rejected_entries)
        assert all(0 <= position < len(entries) for position, _ in found.rejected_entries)
        if kind.state is not None and found.count:
            before = kind.mechanism.reports(kind.state)
            kind.mechanism.fold(kind.state, found.reports)
            assert kind.mechanism.reports(kind.state) == before + found.count
        return _outcome(bool(found.count), bool(found.rejected))

    return execute


def _outcome(some: bool, refused: bool) -> str:
    return "accepted in part" if some and refused else "accepted" if some else "refused"


@cache
def _asked() -> list[tuple[Survey, list[dict[str, Any]]]]:
    """Surveys with rounds, each with the offers of its rounds."""
    found = []
    for number, case in enumerate(ALL_CASES):
        survey = parse({"name": f"s{number}", **case.table})
        if survey.mechanism.rounds < 2:
            continue
        offers, history, state = [], [], survey.mechanism.empty()
        while True:
            now = survey.in_round(history)
            offers.append(Offer.of(now, seeded(5)).table())
            now.mechanism.fold(state, now.mechanism.perturb(skewed_cells(now.mechanism, 400), seeded(6)))
            parameters = now.mechanism.next_round(state)
            if parameters is None:
                break
            history.append(parameters)
        found.append((survey, offers))
    return found


def run_offers(tally: Tally, seed: int, cases: int) -> None:
    """Offers of rounds, as a device gets them."""
    random = Random(seed)
    every = _asked()
    others = [offer for _, offers in every for offer in offers]
    for _ in range(cases):
        survey, offers = random.choice(every)
        good = random.choice(offers)
        if random.random() < 0.7:  # what a device looks at last
            offer = {**good, "parameters": damaged_tree(random, good["parameters"], others)}
        else:
            offer = damaged_tree(random, good, others)
        tally.run((survey.mechanism.ID, offer), _accepting(survey, offer, random.randrange(3)))


def _accepting(survey: Survey, offer: Any, answered: int) -> Callable[[], str]:
    def execute() -> str:
        try:
            now = Offer.parse(copy.copy(offer)).accepted(survey, answered) if isinstance(offer, dict) else None
            if now is None:
                return "refused"
            now.mechanism.perturb(skewed_cells(now.mechanism, 2), seeded(1))
        except (OfferRefused, MechanismError):
            return "refused"
        return "accepted"

    return execute
