"""Windows: aligned to the epoch, half open, named by their start in UTC."""

import time
from dataclasses import dataclass

import pytest

from hearsay.collector.survey.windows import ALL, Every, Rounds, Whole, Windows, seconds

NOON = 1_738_324_800_000  # 2025-01-31 12:00:00 UTC


@dataclass(frozen=True)
class Shard:
    """What windows need to know of a shard."""

    open: bool
    open_round: int = 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1s", 1), ("90s", 90), ("15m", 900), ("1h", 3_600), ("24h", 86_400), ("30d", 2_592_000), ("007s", 7)],
)
def test_durations(text: str, expected: int) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize(
    "text", ["", "1", "h", "0s", "00d", "-1h", "+1h", "1.5h", "1h ", " 1h", "1H", "1w", "1hh", "1000000s", "١h", "1h\n"]
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="must be a number above 0 and one of s, m, h, d"):
        seconds(text)


@pytest.mark.parametrize(
    ("every_s", "window"),
    [
        (1, "20250131T133007Z"),
        (60, "20250131T133000Z"),
        (3_600, "20250131T130000Z"),
        (86_400, "20250131T000000Z"),
        (7, "20250131T133002Z"),  # 1738330207 is 5 after a multiple of 7
    ],
)
def test_windows_are_named_by_their_start(every_s: int, window: str) -> None:
    assert Every(every_s).of(NOON + 5_407_999, None).name == window


@pytest.mark.parametrize("every_s", [1, 7, 60, 3_600, 86_400, 999_999 * 86_400])
def test_windows_are_half_open_and_leave_no_gap(every_s: int) -> None:
    windows = Every(every_s)
    window = windows.of(NOON, None)
    first, end = window.start_ms, window.end_ms
    assert first is not None
    assert end is not None
    assert first <= NOON < end
    assert end - first == every_s * 1_000
    assert first % (every_s * 1_000) == 0
    assert windows.of(first, None) == windows.of(end - 1, None) == windows.named(window.name) == window
    assert windows.numbered(window.number) == window
    if every_s < 1_000_000:
        assert windows.of(end, None) > window
        assert windows.of(first - 1, None) < window


def test_the_one_window_ends_with_the_survey() -> None:
    window = Whole().of(NOON, None)
    assert window == Whole().named(ALL) == Whole().numbered(0)
    assert (window.name, window.start_ms, window.end_ms) == (ALL, None, None)
    assert not Whole().is_over(window, NOON, Shard(open=True))
    assert Whole().is_over(window, NOON, Shard(open=False))


def test_a_window_of_time_ends_with_the_clock() -> None:
    windows = Every(3_600)
    window = windows.of(NOON, None)
    assert not windows.is_over(window, NOON + 3_599_999, Shard(open=False))
    assert windows.is_over(window, NOON + 3_600_000, Shard(open=True))


def test_rounds_are_ordered_by_number_and_end_when_another_is_open() -> None:
    windows = Rounds()
    second, tenth = windows.named("r2"), windows.of(NOON, 10)
    assert second < tenth
    assert [window.name for window in sorted([tenth, second, windows.numbered(1)])] == ["r1", "r2", "r10"]
    assert not windows.is_over(second, NOON, Shard(open=True, open_round=2))
    assert windows.is_over(second, NOON, Shard(open=True, open_round=3))
    assert windows.is_over(second, NOON, Shard(open=True, open_round=0))
    assert windows.is_over(second, NOON, Shard(open=False, open_round=2))


@pytest.mark.parametrize(
    ("windows", "name"),
    [(Whole(), "r1"), (Every(60), "all"), (Every(60), "r1"), (Rounds(), "all"), (Rounds(), "r0"), (Rounds(), "r01")],
)
def test_names_that_a_survey_cannot_have(windows: Windows, name: str) -> None:
    with pytest.raises(ValueError, match="window must be"):
        windows.named(name)


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata"])
def test_the_zone_of_the_machine_plays_no_part(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", zone)
        time.tzset()
        window = Every(3_600).of(NOON, None)
        assert window.name == "20250131T120000Z"
        assert Every(3_600).named(window.name) == window
        assert (window.start_ms, window.end_ms) == (NOON, NOON + 3_600_000)
    time.tzset()


KNOWN = {
    Whole(): [Whole().numbered(0)],
    Every(3_600): [Every(3_600).numbered(NOON + hour * 3_600_000) for hour in range(3)],
    Rounds(): [Rounds().numbered(number) for number in (1, 2, 3)],
}


@pytest.mark.parametrize(
    ("windows", "text", "positions"),
    [
        (Whole(), "all", [0]),
        (Whole(), "last:2", [0]),
        (Every(3_600), "all", [0, 1, 2]),
        (Every(3_600), "last:2", [1, 2]),
        (Every(3_600), "last:9", [0, 1, 2]),
        (Every(3_600), "20250131T130000Z", [1]),
        (Rounds(), "all", [0, 1, 2]),
        (Rounds(), "r2", [0, 1]),
    ],
)
def test_a_question_names_windows(windows: Windows, text: str, positions: list[int]) -> None:
    known = KNOWN[windows]
    assert windows.choose(text, known) == [known[position] for position in positions]


@pytest.mark.parametrize(
    ("windows", "text", "allowed"),
    [
        (Whole(), "last:0", r"all, last:N or a window with reports \(newest: all\)"),
        (Every(3_600), "20250131T150000Z", "all, last:N or a window with reports"),
        (Every(3_600), "last:٣", "all, last:N"),
        (Rounds(), "last:2", r"all or a round with reports \(newest: r1, r2, r3\)"),
        (Rounds(), "r4", "all or a round"),
    ],
)
def test_windows_that_cannot_be_named(windows: Windows, text: str, allowed: str) -> None:
    with pytest.raises(ValueError, match=f"window must be {allowed}.*, got {text}"):
        windows.choose(text, KNOWN[windows])


def test_only_one_window_is_complete_by_itself() -> None:
    assert [windows.may_begin_another(open=True) for windows in KNOWN] == [False, True, True]
    assert not any(windows.may_begin_another(open=False) for windows in KNOWN)


def test_whoever_registers_rounds_is_told_that_time_ends_them() -> None:
    assert Rounds(reports=5).opening() == Whole().opening() == ""
    assert "ends after 600 s even without a report" in Rounds(within_s=600).opening()


def test_a_round_is_due_by_reports_or_by_time() -> None:
    assert not Rounds().is_due(10**9, 10**9)
    assert [Rounds(reports=5).is_due(reports, 10**9) for reports in (4, 5)] == [False, True]
    assert [Rounds(within_s=60).is_due(10**9, elapsed_s) for elapsed_s in (59.9, 60)] == [False, True]
    assert [Rounds(5, 60).is_due(*case) for case in ((4, 59), (5, 0), (0, 60))] == [False, True, True]
    assert not Whole().is_due(10**9, 10**9)


def test_windows_that_are_kept() -> None:
    assert [windows.kept(7_200) for windows in KNOWN] == [1, 3, 1]
    assert [windows.kept(None) for windows in KNOWN] == [1, 1, 1]
    assert [windows.in_rounds for windows in KNOWN] == [False, False, True]


@pytest.mark.parametrize("windows", list(KNOWN), ids=lambda windows: type(windows).__name__)
def test_positions_count_windows_one_by_one(windows: Windows) -> None:
    window = windows.of(NOON, 3)
    assert windows.at(windows.position(window)) == window
    if windows.timed:
        assert window.end_ms is not None
        assert windows.position(windows.of(window.end_ms, None)) == windows.position(window) + 1
