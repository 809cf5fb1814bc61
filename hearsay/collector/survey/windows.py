"""Windows of time: by the server's append time, UTC, aligned to the epoch, half open."""

import re
from datetime import UTC, datetime

ALL = "all"
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_FORMAT = "%Y%m%dT%H%M%SZ"


def seconds(text: str) -> int:
    """The seconds of a duration such as `90s`, `15m`, `1h`, `30d`."""
    match = re.fullmatch(r"([0-9]{1,6})([smhd])", text)
    if not match or int(match[1]) == 0:
        raise ValueError(f"must be a number above 0 and one of s, m, h, d, such as 1h, got {text!r}")
    return int(match[1]) * _UNITS[match[2]]


def window_of(milliseconds: int, every_s: int | None) -> str:
    """The window that an entry of this append time belongs to."""
    if every_s is None:
        return ALL
    start = milliseconds // (every_s * 1_000) * every_s
    return datetime.fromtimestamp(start, UTC).strftime(_FORMAT)


def bounds_ms(window: str, every_s: int | None) -> tuple[int, int | None]:
    """First millisecond of a window and the first one after it (None: it never ends)."""
    if every_s is None or window == ALL:
        return 0, None
    start = int(datetime.strptime(window, _FORMAT).replace(tzinfo=UTC).timestamp())
    return start * 1_000, (start + every_s) * 1_000
