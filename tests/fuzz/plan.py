"""How many cases of what: a million in all, in parts that two processes can share."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import redis

from tests.fuzz import gateway, requests, rows, snapshots, surveys, wire
from tests.fuzz.tally import Tally, undisturbed


@dataclass(frozen=True)
class Around:
    """What a target may use."""

    folder: Path
    client: redis.Redis
    prefix: str


Runner = Callable[[Tally, int, int, Around], None]
TARGETS: dict[str, Runner] = {
    "wire: entries": lambda tally, seed, cases, around: wire.run(tally, seed, cases),
    "wire: offers": lambda tally, seed, cases, around: wire.run_offers(tally, seed, cases),
    "gateway": lambda tally, seed, cases, around: gateway.run(tally, seed, cases),
    "survey files": lambda tally, seed, cases, around: surveys.run(tally, seed, cases, around.folder),
    "snapshots": lambda tally, seed, cases, around: snapshots.run(tally, seed, cases, around.folder),
    "CSV values": lambda tally, seed, cases, around: rows.run(tally, seed, cases, around.folder),
    "HTTP": lambda tally, seed, cases, around: requests.run(tally, seed, cases, around.client, around.prefix),
}
# Cases of a part, and how many parts: those that take longest first, so that two processes end together.
PLAN = {
    "snapshots": (15_000, 4),
    "HTTP": (15_000, 4),
    "survey files": (25_000, 4),
    "wire: entries": (165_000, 4),
    "wire: offers": (50_000, 1),
    "gateway": (50_000, 1),
    "CSV values": (40_000, 2),
}
PARTS = [(target, cases, part) for target, (cases, parts) in PLAN.items() for part in range(parts)]
QUICK = {
    "snapshots": 150,
    "HTTP": 300,
    "survey files": 800,
    "wire: entries": 5_000,
    "wire: offers": 300,
    "gateway": 1_000,
    "CSV values": 800,
}


def fuzz(target: str, seed: int, cases: int, around: Around) -> Tally:
    """So many cases of a target."""
    tally = Tally(target)
    with undisturbed():
        TARGETS[target](tally, seed, cases, around)
    return tally
