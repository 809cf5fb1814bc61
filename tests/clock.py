"""A clock that tests may turn: every script asks it instead of the server's own."""

from collections.abc import Callable

import pytest

from hearsay.collector.store import scripts
from hearsay.collector.store.client import Client

SOURCE = "turned.<locals>.source"  # how a turned source is told from the package's own
_OFFSET = "test:clock:offset"
_PRELUDE = f"""
local function turned_time()
  local time = redis.call('TIME')
  return {{string.format('%.0f', time[1] + tonumber(redis.call('GET', '{_OFFSET}') or '0')), time[2]}}
end
local function turned_id(stream) -- as the server does: ids follow the clock forward and never back
  local time = turned_time()
  local now, last = time[1] * 1000 + math.floor(time[2] / 1000), 0
  local known = redis.pcall('XINFO', 'STREAM', stream)
  for i = 1, #known - 1, 2 do
    if known[i] == 'last-generated-id' then last = tonumber(string.match(known[i + 1], '^(%d+)')) end
  end
  return string.format('%.0f-*', math.max(now, last))
end
"""


class Clock:
    """The server's clock as the scripts see it."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def turn(self, seconds: float) -> None:
        """Forward, or back."""
        self._client.incrby(_OFFSET, int(seconds))

    def set(self, seconds: float) -> None:
        """So far from the true time."""
        self._client.set(_OFFSET, int(seconds))


def turned(original: Callable[[str, bool], str]) -> Callable[[str, bool], str]:
    """Scripts that ask a clock of ours."""

    def source(name: str, flags: bool) -> str:
        text = original(name, flags).replace("redis.call('TIME')", "turned_time()")
        text = text.replace("'XADD', stream, '*'", "'XADD', stream, turned_id(stream)")
        head, newline, rest = text.partition("\n") if text.startswith("#!") else ("", "", text)
        return head + newline + _PRELUDE + rest

    return source


def turn_scripts() -> None:
    """From now on the scripts of this process ask a clock of ours; once is enough."""
    if getattr(scripts.source, "__qualname__", "") != SOURCE:
        scripts.source = turned(scripts.source)  # type: ignore[assignment]


def turn_clocks(monkeypatch: pytest.MonkeyPatch, client: Client) -> Clock:
    """Scripts that are made from now on ask a clock of ours."""
    monkeypatch.setattr(scripts, "source", turned(scripts.source))
    return Clock(client)
