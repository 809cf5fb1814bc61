"""A kind of windows that nothing outside `windows.py` knows: those who use windows ask them, and do not compute."""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hearsay import Device
from hearsay.collector.survey.survey import Survey, parse
from hearsay.collector.survey.windows import Every, Window
from hearsay.estimator import attention, comparing
from hearsay.producer import device
from hearsay.producer.errors import RepeatedReports
from tests.producer.budget.world import HOUR_MS, World

LIKES: dict[str, Any] = {"name": "likes", "mechanism": "hrr", "epsilon": 0.5, "domain": {"kind": "binary"}}
MINUTE_MS = 60_000
NOON = 1_738_324_800_000


@dataclass(frozen=True)
class Shifted(Every):
    """Windows that begin twenty minutes after the hour."""

    def of(self, append_ms: int, round_number: int | None) -> Window:
        return self.at((append_ms - 20 * MINUTE_MS) // self.every_ms)

    def position(self, window: Window) -> int:
        return (window.number - 20 * MINUTE_MS) // self.every_ms

    def at(self, position: int) -> Window:
        return self.numbered(position * self.every_ms + 20 * MINUTE_MS)


def shifted(**participation: Any) -> Survey:
    survey = parse({**LIKES, "window": {"every": "1h"}, "participation": participation})
    survey.__dict__["windows"] = Shifted(3_600)
    return survey


def test_a_device_s_ledger_draws_one_of_them(tmp_path: Path) -> None:
    sampled = World(shifted(repeat="sampled", of=5), tmp_path / "ledger", 1)
    sampled.gateway.alone = True
    sampled.now_ms -= (sampled.now_ms - 20 * MINUTE_MS) % (5 * HOUR_MS)
    outcomes = []
    for _ in range(50):
        outcomes.append(sampled.run(0, "submit"))
        sampled.now_ms += HOUR_MS
    groups = [outcomes[start : start + 5] for start in range(0, 50, 5)]
    assert all(sorted(group) == ["sent", *["skipped"] * 4] for group in groups)


def test_a_device_warns_within_one_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    now_ms = [NOON + 10 * MINUTE_MS]
    monkeypatch.setattr(device.time, "time", lambda: now_ms[0] / 1_000)
    reporting = Device(shifted(repeat="every-window"))
    reporting.report(1)
    now_ms[0] += 20 * MINUTE_MS  # 12:30: the hour is the same, the window is the next one
    reporting.report(1)
    now_ms[0] += 45 * MINUTE_MS  # 13:15: the hour is another, the window is the same
    with pytest.warns(RepeatedReports):
        reporting.report(1)


def test_the_estimator_wakes_at_the_end_of_one_of_them() -> None:
    survey, now = shifted(repeat="every-window"), [1_000.0]
    registered: Any = SimpleNamespace(survey=survey, shards=[])
    seen: Any = SimpleNamespace(survey=survey, shards=[], now_ms=NOON, registered=registered)
    watched = attention.Attention(lambda: now[0])
    watched.due([registered])
    watched.looked(seen, busy=False)
    assert watched._known[survey.tag].window_end == 1_000.0 + 20 * 60


def test_a_trend_counts_them() -> None:
    seen: Any = SimpleNamespace(survey=shifted(repeat="every-window"))
    first, third = (seen.survey.windows.of(NOON + hours * HOUR_MS, None) for hours in (0, 2))
    assert comparing._number(third, first, seen) == 2.0
