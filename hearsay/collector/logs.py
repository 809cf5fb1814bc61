"""Logs: one JSON object per line on stderr, times in UTC."""

import json
import logging
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

LINES, WITHIN_S = 20, 10.0  # of one kind: a client or a server in trouble can ask for thousands a second
KINDS = 1_000
REPEATED_S = 60.0
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """A record as one line; what was passed as `extra` becomes fields of its own."""

    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "process": self._process,
            "pid": record.process,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update({name: value for name, value in vars(record).items() if name not in _OWN})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class RateLimit(logging.Filter):
    """Passes at most `lines` records of one kind per `within_s` seconds.

    The first record after that has the field `left_out`: how many were dropped.
    """

    def __init__(self, lines: int = LINES, within_s: float = WITHIN_S, clock: Callable[[], float] = time.monotonic):
        super().__init__()
        self._lines, self._within_s, self._clock = lines, within_s, clock
        self._lock = threading.Lock()
        self._begun: dict[tuple[str, str], tuple[float, int]] = {}  # logger, text: interval began, records since

    def filter(self, record: logging.LogRecord) -> bool:
        kind, now = (record.name, str(record.msg)), self._clock()
        with self._lock:
            began, count = self._begun.get(kind, (now, 0))
            if now - began >= self._within_s:
                left_out, began, count = max(count - self._lines, 0), now, 0
                if left_out:
                    record.left_out = left_out
            if len(self._begun) > KINDS:
                self._begun.clear()
            self._begun[kind] = (began, count + 1)
            return count < self._lines


class RepeatedWarnings:
    """Logs the warning of a loop once, then when it changes, and every minute while it lasts."""

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log, self._clock = log, clock
        self._last: str | None = None
        self._at = 0.0

    def warning(self, text: str, **fields: str) -> None:
        """`fields` are further keys of the line."""
        now = self._clock()
        if text != self._last or now >= self._at + REPEATED_S:
            self._last, self._at = text, now
            self._log.warning(text, extra=fields)

    def clear(self) -> None:
        """Note that nothing is wrong now."""
        self._last = None


def configure(process: str, level: str = "info") -> None:
    """Send every logger's records to stderr as JSON lines, in place of whatever was set up before."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(process))
    handler.addFilter(RateLimit())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
