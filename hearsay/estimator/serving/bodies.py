"""Answers as they are sent: made once for all who ask the same of the same version, and compressed once."""

import gzip
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property

from starlette.requests import Request
from starlette.responses import Response

KEPT_BYTES = 8 << 20  # of all bodies together, before they are compressed
COMPRESSED_BYTES = 2_048  # what is shorter is sent as it is
LEVEL = 5


@dataclass(frozen=True)
class Body:
    """What a response says, and in which format."""

    plain: bytes
    media_type: str

    @cached_property
    def compressed(self) -> bytes:
        return gzip.compress(self.plain, LEVEL, mtime=0)

    def respond(self, request: Request, tag: str) -> Response:
        """The response to a request, compressed where the client takes that; `tag` names the version."""
        headers = {"ETag": tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        if len(self.plain) < COMPRESSED_BYTES or "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(self.plain, media_type=self.media_type, headers=headers)
        return Response(self.compressed, media_type=self.media_type, headers={**headers, "Content-Encoding": "gzip"})


class Bodies:
    """The bodies of the versions asked for last; whoever asks while one is being made waits for it."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._limit, self._bytes = kept_bytes, 0
        self._kept: OrderedDict[str, Future[Body]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, tag: str, make: Callable[[], Body]) -> Body:
        """The body of a version; `make` is called where nobody has asked for it before. A refusal is not kept."""
        with self._lock:
            known = self._kept.get(tag)
            future: Future[Body] = self._kept.setdefault(tag, Future())
            self._kept.move_to_end(tag)
        if known is not None:
            return known.result()
        try:
            body = make()
        except BaseException as error:
            with self._lock:
                del self._kept[tag]
            future.set_exception(error)
            raise
        with self._lock:
            future.set_result(body)
            self._bytes += len(body.plain)
            self._make_room()
        return body

    def _make_room(self) -> None:
        """Let those go that were not asked for longest, until the rest fits."""
        for tag in [tag for tag, future in self._kept.items() if future.done()]:
            if self._bytes <= self._limit:
                return
            self._bytes -= len(self._kept.pop(tag).result().plain)
