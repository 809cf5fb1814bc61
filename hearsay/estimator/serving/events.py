"""One stream for each viewer: what changed, pushed after every pass.

A viewer that does not keep up loses nothing that it needs: of each kind of event only the newest waits for it.
"""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from hearsay.collector.http.problems import Problem
from hearsay.collector.http.server import STREAM, most_connections

QUIET_S = 5.0  # without a pass the overview is sent all the same: it says that there was none
STREAMS_SHARE = 2  # streams take half of the connections at most: whoever only asks is still answered


@dataclass(eq=False)
class Stream:
    """One viewer: the newest of each event that it was not sent yet, by what the event is about."""

    waiting: dict[str, bytes] = field(default_factory=dict)
    wake: asyncio.Event = field(default_factory=asyncio.Event)


class Feed:
    """Hands events from the pass, which runs in a thread of its own, to the streams on the event loop."""

    def __init__(self, overview: Callable[[], bytes]) -> None:
        self._overview = overview
        self._lock = threading.Lock()
        self._streams: set[Stream] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    def passed(self, changed: Iterable[dict[str, Any]]) -> None:
        """A pass is over: `changed` are its new snapshots as {name, window, version, reports}."""
        with self._lock:
            watched = bool(self._streams)
        if not watched:
            return
        events = {f"survey {each['name']}": _event("survey", json.dumps(each).encode()) for each in changed}
        self._send({"overview": _event("overview", self._overview()), **events})

    def close(self) -> None:
        """End all streams now: the process stops."""
        self._closed = True
        self._send({})

    def _send(self, events: dict[str, bytes]) -> None:
        def deliver() -> None:
            for stream in tuple(self._streams):
                stream.waiting |= events
                stream.wake.set()

        with self._lock:
            loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(deliver)

    async def respond(self, request: Request) -> Response:
        """`GET /api/events`."""
        most = most_connections() // STREAMS_SHARE
        if len(self._streams) >= most:
            raise Problem(503, "busy", f"{most} viewers are connected; try again later", retry_after_s=5)
        request.scope[STREAM] = True
        stream = Stream()
        self._loop = asyncio.get_running_loop()
        with self._lock:
            self._streams.add(stream)
        try:
            first = _event("overview", await run_in_threadpool(self._overview))
        except BaseException:
            self._leave(stream)
            raise
        return _Followed(self._events(stream, first), lambda: self._leave(stream))

    def _leave(self, stream: Stream) -> None:
        with self._lock:
            self._streams.discard(stream)

    async def _events(self, stream: Stream, first: bytes) -> AsyncIterator[bytes]:
        yield first
        while not self._closed:
            try:
                await asyncio.wait_for(stream.wake.wait(), QUIET_S)
            except TimeoutError:
                yield _event("overview", await run_in_threadpool(self._overview))
                continue
            stream.wake.clear()
            events, stream.waiting = stream.waiting, {}
            if events:
                yield b"".join(events.values())


class _Followed(StreamingResponse):
    """A stream that says when it is over, also where its client left before the first byte."""

    def __init__(self, events: AsyncIterator[bytes], over: Callable[[], None]) -> None:
        super().__init__(events, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
        self._over = over

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._over()


def _event(name: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)
