"""Requests prepared beforehand, sent over keep-alive connections as fast as they are answered."""

import asyncio
import re

_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
_END = b"\r\n\r\n"


class _Connection(asyncio.Protocol):
    """Sends one request after the other, each when the last one is answered."""

    def __init__(self, load: "Load") -> None:
        self._load, self._received = load, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._next()

    def _next(self) -> None:
        request = next(self._load.requests, None)
        if request is None:
            self._transport.close()
        else:
            self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head = self._received.find(_END)
        if head < 0:
            return
        length = _LENGTH.search(self._received, 0, head)
        if length is None or len(self._received) < head + len(_END) + int(length[1]):
            return
        self._load.answered(self._received[9:12])
        self._received = b""
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        self._load.ended()


class Load:
    """All requests, shared by the connections; `statuses` counts the answers."""

    def __init__(self, requests: list[bytes], connections: int) -> None:
        self.requests = iter(requests)
        self.statuses: dict[bytes, int] = {}
        self._open = connections

    def answered(self, status: bytes) -> None:
        self.statuses[status] = self.statuses.get(status, 0) + 1

    def ended(self) -> None:
        self._open -= 1
        if not self._open:
            self._done.set()

    async def run(self, host: str, port: int) -> None:
        self._done = asyncio.Event()
        loop = asyncio.get_running_loop()
        await asyncio.gather(
            *(loop.create_connection(lambda: _Connection(self), host, port) for _ in range(self._open))
        )
        await self._done.wait()


def send(requests: list[bytes], host: str, port: int, connections: int) -> dict[str, int]:
    """Send all; how often each status came back. A request whose connection breaks is counted nowhere."""
    load = Load(requests, connections)
    asyncio.run(load.run(host, port))
    return {status.decode(): count for status, count in load.statuses.items()}
