"""Windows: what a survey's reports are counted apart by. One window, one per stretch of time, or one per round.

Time is the server's append time, UTC, aligned to the epoch, half open. Windows are ordered by their number, never by
their name: round 10 comes after round 2. Whatever depends on the kind of windows is a method here: nobody else asks
which kind a survey has, only whether it is `in_rounds`, where the server and devices must know the open round.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Protocol

from hearsay.collector.errors import NotAllowed

ALL = "all"
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_FORMAT = "%Y%m%dT%H%M%SZ"


def seconds(text: str) -> int:
    """The seconds of a duration such as `90s`, `15m`, `1h`, `30d`."""
    match = re.fullmatch(r"([0-9]{1,6})([smhd])", text)
    if not match or int(match[1]) == 0:
        raise NotAllowed(expected="a number above 0 and one of s, m, h, d, such as 1h", got=repr(text))
    return int(match[1]) * _UNITS[match[2]]


@dataclass(frozen=True, order=True)
class Window:
    """A window; `end_ms` is the first millisecond after it, None where the clock does not end it."""

    number: int
    name: str
    start_ms: int | None = None
    end_ms: int | None = None


class Seen(Protocol):
    """What must be known of a shard to say whether a window is over."""

    @property
    def open(self) -> bool:
        """Whether the survey takes reports."""

    @property
    def open_round(self) -> int:
        """The round that takes reports; 0: none."""


class Windows(ABC):
    """How a survey's reports fall into windows."""

    in_rounds = False  # whether entries carry the number of the round that they answer
    selection = "all, last:N or a window"  # what a question may name

    @abstractmethod
    def numbered(self, number: int) -> Window:
        """The window of this number, as a range records it."""

    @abstractmethod
    def named(self, name: str) -> Window:
        """The window of this name; ValueError where it can have no such window."""

    @abstractmethod
    def of(self, append_ms: int, round_number: int | None) -> Window:
        """The window of an entry that was appended at this time, in this round."""

    @abstractmethod
    def is_over(self, window: Window, now_ms: int, seen: Seen) -> bool:
        """Whether no further entry can be of the window; those that wait are another matter."""

    @cached_property
    def every_ms(self) -> int:
        """The length of a window in time; 0 where time makes none."""
        return 0

    @cached_property
    def timed(self) -> bool:
        """Whether the clock ends its windows."""
        return self.every_ms > 0

    def position(self, window: Window) -> int:
        """Which window it is, those without reports counted: the next one has the next position."""
        return window.number

    def at(self, position: int) -> Window:
        """The window at a position."""
        return self.numbered(position)

    def may_begin_another(self, open: bool) -> bool:
        """Whether further windows may begin in a survey that is open, or closed: then all of them are not final."""
        return open

    def kept(self, retain_s: int | None) -> int:
        """How many windows hold a state at most, where each is kept for `retain_s` after its end."""
        return 1

    def is_due(self, reports: int, elapsed_s: float) -> bool:
        """Whether the open round has enough reports, or has been open for long enough."""
        return False

    def opening(self) -> str:
        """What whoever registers the survey should know of its first window; empty: nothing."""
        return ""

    def up_to(self, window: Window, known: Sequence[Window]) -> list[Window]:
        """The windows that a window's estimate needs, of all that hold something: here itself alone."""
        return [window]

    def choose(self, text: str, known: Sequence[Window]) -> list[Window]:
        """The windows that a question names: `all`, the `last:N`, or one by its name; NotAllowed says what is allowed.

        `known` are the windows that hold something, oldest first.
        """
        if text == ALL:
            return list(known)
        last = self._last(text)
        if last:
            return list(known[-last:])
        for window in known:
            if window.name == text:
                return self.up_to(window, known)
        newest = ", ".join(window.name for window in known[-3:]) or "none yet"
        raise NotAllowed(what="window", expected=f"{self.selection} with reports (newest: {newest})", got=text)

    def _last(self, text: str) -> int:
        """The number in `last:N`; 0: it is something else."""
        last = re.fullmatch(r"last:([1-9]\d{0,8})", text, re.ASCII)
        return int(last[1]) if last else 0


@dataclass(frozen=True)
class Whole(Windows):
    """One window, until the survey is closed."""

    def numbered(self, number: int) -> Window:
        return Window(0, ALL)

    def named(self, name: str) -> Window:
        if name != ALL:
            raise ValueError(f"window must be {ALL}, got {name!r}")
        return Window(0, ALL)

    def of(self, append_ms: int, round_number: int | None) -> Window:
        return Window(0, ALL)

    def is_over(self, window: Window, now_ms: int, seen: Seen) -> bool:
        return not seen.open

    def may_begin_another(self, open: bool) -> bool:
        return False


@dataclass(frozen=True)
class Every(Windows):
    """One window every so many seconds, named by its start; its number is that start in milliseconds."""

    every_s: int

    def numbered(self, number: int) -> Window:
        name = datetime.fromtimestamp(number // 1_000, UTC).strftime(_FORMAT)
        return Window(number, name, number, number + self.every_ms)

    def named(self, name: str) -> Window:
        try:
            start = datetime.strptime(name, _FORMAT).replace(tzinfo=UTC)
        except ValueError:
            raise ValueError(f"window must be like 20250131T130000Z, got {name!r}") from None
        return self.numbered(int(start.timestamp()) * 1_000)

    def of(self, append_ms: int, round_number: int | None) -> Window:
        return self.numbered(append_ms // self.every_ms * self.every_ms)

    def is_over(self, window: Window, now_ms: int, seen: Seen) -> bool:
        return window.end_ms is not None and now_ms >= window.end_ms

    @cached_property
    def every_ms(self) -> int:
        return 1_000 * self.every_s

    def position(self, window: Window) -> int:
        return window.number // self.every_ms

    def at(self, position: int) -> Window:
        return self.numbered(position * self.every_ms)

    def kept(self, retain_s: int | None) -> int:
        return 1 if retain_s is None else 1 + retain_s // self.every_s


@dataclass(frozen=True)
class Rounds(Windows):
    """One window per round, `r1`, `r2` and so on. A later round asks what earlier ones answered, so it needs them."""

    reports: int | None = None
    within_s: int | None = None

    in_rounds = True
    selection = "all or a round"

    def numbered(self, number: int) -> Window:
        return Window(number, f"r{number}")

    def named(self, name: str) -> Window:
        if not re.fullmatch(r"r[1-9][0-9]{0,5}", name, re.ASCII):
            raise ValueError(f"window must be r1, r2 and so on, got {name!r}")
        return self.numbered(int(name[1:]))

    def of(self, append_ms: int, round_number: int | None) -> Window:
        return self.numbered(round_number or 1)

    def is_over(self, window: Window, now_ms: int, seen: Seen) -> bool:
        return not seen.open or window.number != seen.open_round

    def is_due(self, reports: int, elapsed_s: float) -> bool:
        enough = self.reports is not None and reports >= self.reports
        return enough or (self.within_s is not None and elapsed_s >= self.within_s)

    def opening(self) -> str:
        if self.within_s is None:
            return ""
        return f"round 1 is open; a round ends after {self.within_s:g} s even without a report, the last one for good"

    def up_to(self, window: Window, known: Sequence[Window]) -> list[Window]:
        return [each for each in known if each <= window]

    def _last(self, text: str) -> int:
        return 0


def windows_of(table: Mapping[str, Any]) -> Windows:
    """Windows of a survey without rounds, by its file's table `[window]`: one per stretch of time, or one for all."""
    every = table.get("every")
    return Whole() if every is None else Every(seconds(every))
