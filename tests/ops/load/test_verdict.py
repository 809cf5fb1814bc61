"""Times from when reports were due, and which part a load test names as the limit."""

from dataclasses import replace

import pytest

from hearsay.ops.load.latencies import Done, Latencies, done_at, missing
from hearsay.ops.load.verdict import Evidence, committing_held, held, limit_of, sending_held
from hearsay.ops.load.watch import Servers

IDLE = Servers(busy=0.1, ping_s=0.0005, link_s=0.0002)
WELL = Evidence(
    seconds=10.0, behind_s=0.0, all_sent=True, commit_behind_s=0.4, stale_s=1.0,
    waits={}, publishing=0.1, making=0.3, servers=IDLE, workers=2,
)  # fmt: skip
LATE = replace(WELL, behind_s=5.0)


def test_a_freeze_shows_in_the_times_of_all_that_were_due_meanwhile() -> None:
    """100 reports a second for 10 s; nothing is acknowledged from second 3 to 6, then all of it at once."""
    at_once = [Done(k / 100 + 0.001, 1, k / 100, k / 100) for k in range(1, 1001) if not 300 < k <= 600]
    times = Latencies([*at_once, Done(6.0, 300, 3.01, 6.0)]).table()
    assert times is not None
    assert times["p50"] == pytest.approx(0.001, abs=1e-3)
    assert times["p90"] == pytest.approx(2.0, abs=0.2)  # 300 of 1,000 waited, evenly up to 3 s
    assert times["p99"] == pytest.approx(2.9, abs=0.2)
    assert times["max"] == pytest.approx(2.99)


def test_no_reports_have_no_times() -> None:
    assert Latencies([]).table() is None
    assert Latencies([]).quantile(0.99) is None


def test_samples_of_a_count_become_batches() -> None:
    batches = done_at([(1.0, 0), (2.0, 100), (3.0, 100), (4.0, 450)], rate=100.0, total=400)
    assert batches == [Done(2.0, 100, 0.01, 1.0), Done(4.0, 300, 1.01, 4.0)]


def test_reports_that_were_never_done_leave_no_times() -> None:
    """The times of those that were done would say nothing of the others."""
    samples = [(1.0, 100), (2.0, 350), (3.0, 350)]
    assert missing(samples, 400) == 50
    assert missing(samples, 350) == 0
    assert missing([], 400) is None
    assert done_at(samples, rate=100.0, total=400) == []


def test_a_snapshot_that_never_came_has_no_time() -> None:
    limit = limit_of(replace(WELL, stale_s=20.0, all_visible=False))
    assert limit is not None
    assert limit.part == "estimator"
    assert limit.why == "all was committed in time, and no snapshot had all of it within 20 s"


def test_a_rate_that_is_held_has_no_limit() -> None:
    assert sending_held(WELL)
    assert committing_held(WELL)
    assert limit_of(WELL) is None


@pytest.mark.parametrize(
    ("seen", "part"),
    [
        (replace(LATE, making=0.9), "producers"),
        (replace(LATE, publishing=0.8, servers=Servers(0.9, 0.001, 0.0002)), "server"),
        (replace(LATE, waits={"reply": 0.8}, servers=Servers(0.1, 0.05, 0.0002)), "server"),
        (replace(LATE, publishing=0.8), "link"),
        (replace(LATE, publishing=0.8, servers=Servers(0.1, 0.05, 0.049)), "link"),
        (replace(LATE, waits={"backlog": 0.5}), "workers"),
        (replace(LATE, waits={"deltas": 0.5}), "workers"),
        (replace(LATE, waits={"memory": 0.5}), "server"),
        (replace(LATE, waits={"server": 0.1}, publishing=0.8), "server"),
        (replace(LATE, waits={"server": 0.001}, publishing=0.8), "link"),
        (replace(WELL, commit_behind_s=9.0), "workers"),
        (replace(WELL, commit_behind_s=None), "workers"),
        (replace(WELL, commit_behind_s=None, workers=0), "workers"),
        (replace(WELL, commit_behind_s=9.0, servers=Servers(0.95, 0.001, 0.0)), "server"),
        (replace(WELL, commit_behind_s=1.6, waits={"server": 0.5}), "server"),
        (replace(WELL, commit_behind_s=1.6, waits={"server": 0.1}), "workers"),
        (replace(WELL, stale_s=30.0), "estimator"),
    ],
)
def test_the_limit_is_named(seen: Evidence, part: str) -> None:
    limit = limit_of(seen)
    assert limit is not None
    assert limit.part == part
    assert limit.why


def test_commits_that_did_not_end_are_not_said_never_to_come() -> None:
    limit = limit_of(replace(WELL, commit_behind_s=None))
    assert limit is not None
    assert limit.why == "all was sent in time, and part of it was not yet committed; 2 run"


def test_a_short_test_is_not_judged() -> None:
    assert held(WELL, due_s=2.0) is True
    assert held(WELL, due_s=None) is True
    assert held(WELL, due_s=1.9) is None
    assert held(LATE, due_s=1.9) is False  # it took longer than it should have


def test_commits_may_fall_behind_by_a_tenth_of_the_time() -> None:
    assert committing_held(replace(WELL, commit_behind_s=1.4))
    assert not committing_held(replace(WELL, commit_behind_s=1.6))
    assert not committing_held(replace(WELL, seconds=4.0, commit_behind_s=1.0))
    assert not committing_held(replace(WELL, seconds=600.0, commit_behind_s=3.1))
