"""Windows: aligned to the epoch, half open, named by their start in UTC."""

import time

import pytest

from hearsay.collector.survey.windows import ALL, bounds_ms, seconds, window_of

NOON = 1_738_324_800_000  # 2025-01-31 12:00:00 UTC


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
        (None, ALL),
        (1, "20250131T133007Z"),
        (60, "20250131T133000Z"),
        (3_600, "20250131T130000Z"),
        (86_400, "20250131T000000Z"),
        (7, "20250131T133002Z"),  # 1738330207 is 5 after a multiple of 7
    ],
)
def test_windows_are_named_by_their_start(every_s: int | None, window: str) -> None:
    assert window_of(NOON + 5_407_999, every_s) == window


@pytest.mark.parametrize("every_s", [1, 7, 60, 3_600, 86_400, 999_999 * 86_400])
def test_windows_are_half_open_and_leave_no_gap(every_s: int) -> None:
    window = window_of(NOON, every_s)
    first, end = bounds_ms(window, every_s)
    assert end is not None
    assert first <= NOON < end
    assert end - first == every_s * 1_000
    assert first % (every_s * 1_000) == 0
    assert window_of(first, every_s) == window_of(end - 1, every_s) == window
    if every_s < 1_000_000:
        assert window_of(end, every_s) != window
        assert window_of(first - 1, every_s) != window


def test_the_one_window_never_ends() -> None:
    assert bounds_ms(ALL, None) == (0, None)
    assert bounds_ms(ALL, 3_600) == (0, None)


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata"])
def test_the_zone_of_the_machine_plays_no_part(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", zone)
        time.tzset()
        assert window_of(NOON, 3_600) == "20250131T120000Z"
        assert bounds_ms("20250131T120000Z", 3_600) == (NOON, NOON + 3_600_000)
    time.tzset()


def test_names_sort_in_the_order_of_time() -> None:
    names = [window_of(NOON + step * 1_000_000_000, 60) for step in range(-50, 50)]
    assert names == sorted(names)
