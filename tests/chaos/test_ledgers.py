"""Devices with ledgers through two gateways: every report has a bucket of its own, and everything is killed, the
devices too.

Two processes use the same ledgers, one forwards and one backwards. At the end every device has spent one report, its
ledger says that the report is stored, and its bucket has exactly 1: spent equals sent equals counted.
"""

import sqlite3
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.chaos.test_gateways import road_of

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds worker processes in /proc")


def statement(path: Path) -> tuple[int, list[tuple[str, int]]]:
    """Charges of a device, and the state of each of its reports with how often it was charged."""
    with sqlite3.connect(path) as db:
        charges = db.execute("SELECT charges FROM surveys").fetchone()[0]
        reports = db.execute("SELECT state, charges FROM reports").fetchall()
    db.close()
    return charges, reports


def run_devices_under_fire(
    directory: Path, monkeypatch: pytest.MonkeyPatch, devices: int, seconds: float, faults: list[str], seed: int
) -> Counter[str]:
    """So many devices report in about so many seconds, under these faults in random order; answers what happened."""
    ledgers = directory / "ledgers"
    ledgers.mkdir()
    with road_of(directory, monkeypatch, devices, seed) as road:
        for number, (first, step) in enumerate(((0, 1), (devices - 1, -1))):
            words = (str(ledgers), str(first), str(step), str(devices), f"{seconds / devices:.9f}")
            command = ("python", "tests.chaos.devices", "buckets", *words, *map(str, road.ports))
            road.senders[f"sender-{number}"] = command
            road.start(f"sender-{number}", *command)
        road.wait_for_writers("buckets", 1)
        road.suffer(faults)
        road.assert_all_counted_once()
    statements = [statement(ledgers / f"{number}.db") for number in range(devices)]
    assert statements == [(1, [("stored", 1)])] * devices, Counter(map(str, statements)).most_common(3)
    return road.faults


@pytest.mark.slow
def test_every_device_spends_once_and_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faults = ["kill_sender", "kill_gateway", "kill_sender", "kill_server", "kill_sender", "end_gateway"]
    happened = run_devices_under_fire(tmp_path, monkeypatch, devices=400, seconds=5.0, faults=faults, seed=1)
    assert happened["kill -9 of a sender"] >= 2


@pytest.mark.slow
def test_every_device_spends_once_and_counts_once_under_long_fire(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = [
        *["kill_sender"] * 12,
        *["kill_gateway"] * 6,
        *["kill_worker"] * 3,
        *["kill_server"] * 3,
        *["lose_tail_while_gateways_live"] * 2,
        *["turn_clock"] * 2,
        *["end_gateway"] * 2,
    ]
    happened = run_devices_under_fire(tmp_path, monkeypatch, 4_000, 60.0, faults, seed=int(time.time()))
    assert sum(count for name, count in happened.items() if name.startswith("kill -9")) >= 20
