"""The ramp finds the highest rate that is held, and is not ended by one hiccup."""

import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hearsay.ops.config import Settings
from hearsay.ops.load import command
from hearsay.ops.load.latencies import Latencies
from hearsay.ops.load.process import Task
from hearsay.ops.load.ramp import BURST_S, STEPS, highest, ramp
from hearsay.ops.load.report import write
from hearsay.ops.load.run import Outcome, _committed_per_s
from hearsay.ops.load.verdict import Limit
from hearsay.ops.load.watch import Sample

TASK = Task("ages", "normal", None, None, False, False, 1, 4_096, True, None, 1)


class Machine:
    """Takes `full` reports a second at once, and holds rates up to `holds`; the runs in `hiccups` are not held."""

    def __init__(self, full: float, holds: float, hiccups: Sequence[int] = ()) -> None:
        self._full, self._holds, self._hiccups, self.runs = full, holds, hiccups, 0

    def run(self, task: Task) -> Outcome:
        self.runs += 1
        rate = task.rate or self._full
        nothing = Latencies([])
        seconds = task.total / min(rate, self._holds)
        held = seconds - task.total / rate <= task.late_s and self.runs not in self._hiccups
        return Outcome(task.rate, task.total, seconds, [], [], {}, held, None, rate, nothing, nothing, nothing)


@pytest.mark.parametrize(("holds", "share"), [(0.88e6, 0.9), (1.0e6, 1.0), (1.3e6, 1.25)])
def test_the_highest_rate_held_is_within_a_step_of_the_truth(holds: float, share: float) -> None:
    outcomes = ramp(Machine(1e6, holds).run, TASK, threading.Event(), lambda _: None)
    last = highest(outcomes)
    assert last is not None
    assert last.asked_per_s == pytest.approx(share * 1e6)
    assert outcomes[0].asked_per_s is None
    assert outcomes[0].seconds >= BURST_S
    assert [each.held for each in outcomes[-2:]] == [False, False]  # tried twice


def test_the_report_says_what_was_found_and_each_limit_once(tmp_path: Path) -> None:
    held = Machine(1e6, 1e6).run(replace(TASK, rate=5e5))
    tried_twice = [replace(held, asked_per_s=2e6, limit=Limit("server", f"try {n}")) for n in (1, 2)]
    write(tmp_path, "Load test", [held, *tried_twice], "highest rate held: 500,000 reports/s; limit server: try 2")
    lines = (tmp_path / "report.md").read_text().splitlines()
    assert "Highest rate held: 500,000 reports/s; limit server: try 2." in lines
    assert [line for line in lines if line.startswith("At ")] == ["At 2,000,000 reports/s the limit was server: try 2."]


def test_one_hiccup_does_not_end_it() -> None:
    bursts = Machine(1e6, 1e6)
    ramp(bursts.run, TASK, threading.Event(), lambda _: None)
    before = bursts.runs - STEPS.index(1.0) - 1 - 2  # runs until the burst was long enough
    outcomes = ramp(Machine(1e6, 1e6, hiccups=[before + 1, before + 3]).run, TASK, threading.Event(), lambda _: None)
    last = highest(outcomes)
    assert last is not None
    assert last.asked_per_s == pytest.approx(1e6)


def test_a_ramp_that_is_stopped_or_takes_nothing_ends() -> None:
    stop = threading.Event()
    stop.set()
    assert len(ramp(Machine(1e6, 1e6).run, TASK, stop, lambda _: None)) == 1


def test_a_stopped_ramp_is_stopped_in_its_json_though_a_step_was_held(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    held = Machine(1e6, 1e6).run(replace(TASK, rate=5e5))
    stopped = replace(held, asked_per_s=7e5, held=None, stopped=True)
    monkeypatch.setattr(command, "open_registry", lambda settings: None)
    monkeypatch.setattr(command, "ramp", lambda *_: [held, stopped])
    command.load_test(Settings.resolve({}, {}), TASK, 1, True, None, None, True)
    told = json.loads(capsys.readouterr().out)
    assert (told["asked_per_s"], told["held"], told["stopped"]) == (5e5, True, True)
    assert [each["stopped"] for each in told["steps"]] == [False, True]


def test_the_rate_of_commits_is_that_of_what_was_committed() -> None:
    samples = [Sample(at_s, committed, 0, 0.0) for at_s, committed in ((1.0, -5), (2.0, 100), (4.0, 300), (5.0, 300))]
    assert _committed_per_s(samples, 400) == 75.0  # 100 are not committed
    assert _committed_per_s(samples, 300) == 75.0
    assert _committed_per_s(samples[:1], 400) == 0.0
    assert _committed_per_s([], 400) == 0.0
