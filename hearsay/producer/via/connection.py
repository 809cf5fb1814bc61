"""HTTP/1.1 over kept connections, as little of it as sending reports needs."""

import asyncio
import ssl
from collections import deque
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from hearsay.producer.errors import GatewayError

TIMEOUT_S = 30.0
LARGEST_ANSWER = 1 << 20


class Answer(NamedTuple):
    """What came back; names of headers in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _Line:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, request: bytes) -> tuple[Answer, bool]:
        """The answer, and whether the connection may be used again."""
        self.writer.write(request)
        await self.writer.drain()
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {}
        for line in head[1:]:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        length = int(headers.get("content-length", "0"))
        if not 0 <= length <= LARGEST_ANSWER:
            raise ValueError("an answer of that length")
        body = await self.reader.readexactly(length)
        return Answer(int(head[0].split()[1]), headers, body), headers.get("connection", "").lower() != "close"


class Connections:
    """Connections to one gateway, at most `most` at once; whoever needs one more waits."""

    def __init__(self, url: str, most: int) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise GatewayError(what="--via", expected="a URL such as http://127.0.0.1:8788", got=repr(url))
        self._host, self._tls = parts.hostname, ssl.create_default_context() if parts.scheme == "https" else None
        self._port = parts.port or (443 if self._tls else 80)
        self._path, self._free = parts.path.rstrip("/"), deque[_Line]()
        self._room = asyncio.Semaphore(most)

    async def ask(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Answer:
        """One request. OSError, EOFError or ValueError: there is no answer, and nobody knows what became of it."""
        lines = [f"{method} {self._path}{path} HTTP/1.1", f"Host: {self._host}:{self._port}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        request = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode("latin-1") + body
        async with self._room:
            line = self._free.popleft() if self._free else await self._open()
            try:
                answer, again = await asyncio.wait_for(line.ask(request), TIMEOUT_S)
            except BaseException:
                line.writer.close()
                raise
            if again:
                self._free.append(line)
            else:
                line.writer.close()
            return answer

    async def _open(self) -> _Line:
        return _Line(*await asyncio.wait_for(asyncio.open_connection(self._host, self._port, ssl=self._tls), TIMEOUT_S))

    async def close(self) -> None:
        """Give all connections back."""
        while self._free:
            line = self._free.popleft()
            line.writer.close()
            try:
                await line.writer.wait_closed()
            except OSError:
                continue
