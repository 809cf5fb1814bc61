"""The gateway as an ASGI application. Reports come in by the short way; everything else is Starlette's (`pages`).

POST /v1/surveys/{name}/reports   one array of reports, stored once
"""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

import redis

from hearsay.collector.gateway import bodies, ids
from hearsay.collector.gateway.buffer import Answer
from hearsay.collector.gateway.counts import Counts
from hearsay.collector.gateway.keys import Keys
from hearsay.collector.gateway.rates import Rates
from hearsay.collector.gateway.refusals import Refusal
from hearsay.collector.gateway.simulated import ALONE, SIMULATED_HEADER, read_mode
from hearsay.collector.gateway.surveys import Surveys
from hearsay.collector.http.problems import BUG, problem
from hearsay.collector.store.condition import why
from hearsay.collector.store.processes.gateway_counts import ACCEPTED, REQUESTS

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

_LOG = logging.getLogger("hearsay.gateway")
START, END = "/v1/surveys/", "/reports"
CONTENT_TYPE = b"application/vnd.hearsay.v1+msgpack"
_SIMULATED = SIMULATED_HEADER.lower().encode()
_JSON = (b"content-type", b"application/json")


class Gateway:
    """What every request meets: limits, key, id, body, and the lane in which it waits for its answer."""

    def __init__(
        self,
        surveys: Surveys,
        keys: Keys,
        rates: Rates,
        counts: Counts,
        pages: App,
        origins: Iterable[str] = (),
    ) -> None:
        self.surveys, self._keys, self._rates, self._counts, self._pages = surveys, keys, rates, counts, pages
        self._origins = {origin.encode() for origin in origins}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            path: str = scope["path"]
            if path.startswith(START) and path.endswith(END) and "/" not in (name := path[len(START) : -len(END)]):
                await self._post(name, scope, receive, send)
                return
        await self._pages(scope, receive, send)

    async def _post(self, name: str, scope: Message, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        shared = self._shared(headers.get(b"origin")) if self._origins else []
        self._counts[REQUESTS] += 1
        try:
            answer = await self._take(name, scope, headers, receive)
        except Refusal as refusal:
            answer = refusal
        except redis.exceptions.RedisError as error:
            answer = Refusal("server", why(error))
        except asyncio.CancelledError:  # the process ends, and could not store it in time
            answer = Refusal("server", "the gateway stops; send the same request again")
        except Exception as error:
            _LOG.error("request failed", extra={"error": type(error).__name__}, exc_info=error)
            await problem(500, BUG, "internal error")(scope, receive, send)
            return
        if isinstance(answer, Refusal):
            await self._refuse(answer, shared, scope, receive, send)
            return
        self._counts[ACCEPTED] += answer[0]
        body = b'{"accepted":%d,"rejected":%d}' % answer
        length = (b"content-length", b"%d" % len(body))
        await send({"type": "http.response.start", "status": 202, "headers": [_JSON, length, *shared]})
        await send({"type": "http.response.body", "body": body})

    async def _take(self, name: str, scope: Message, headers: dict[bytes, bytes], receive: Receive) -> Answer:
        client = scope["client"]
        self._rates.of_address(client[0] if client else None)
        key = self._keys.check(headers.get(b"authorization"), name)
        if key is not None:
            self._rates.of_key(key.id)
        kind = headers.get(b"content-type", b"")
        if kind != CONTENT_TYPE and kind.partition(b";")[0].strip().lower() != CONTENT_TYPE:
            raise Refusal("content-type", f"the header Content-Type must be {CONTENT_TYPE.decode()}")
        mode = read_mode(headers.get(_SIMULATED))
        identity = ids.parse(headers.get(b"idempotency-key"), time.time() * 1_000)
        await self.surveys.get(name)  # before the body: nobody reads that of a survey that there is not
        body = await _body(headers.get(b"content-length"), receive)
        count = bodies.claimed(body)
        answer = await self._hold(name, scope["query_string"], identity, body, count, mode)
        if isinstance(answer, Refusal) and answer.code == "unknown-survey":
            self.surveys.forget(name)  # it may be registered anew, with another definition
            answer = await self._hold(name, scope["query_string"], identity, body, count, mode)
        return answer

    async def _hold(
        self, name: str, query: bytes, identity: ids.RequestId, body: bytes, count: int, mode: str | None
    ) -> Answer:
        registered = await self.surveys.get(name)
        round_number = _round(query, registered.survey.windows.in_rounds)
        if mode == ALONE:
            await self.surveys.mixtures.refuse(registered)
        lane = await self.surveys.lane(registered, identity.shard(registered), round_number, simulated=mode is not None)
        return await lane.add(identity, body, count)

    async def _refuse(self, refusal: Refusal, shared: Headers, scope: Message, receive: Receive, send: Send) -> None:
        response = self._counts.refuse(refusal)
        response.raw_headers += shared
        await response(scope, receive, send)

    def _shared(self, origin: bytes | None) -> Headers:
        """What lets a page of another origin read the answer."""
        if origin is None or not (origin in self._origins or b"*" in self._origins):
            return [(b"vary", b"Origin")]
        exposed = (b"access-control-expose-headers", b"Retry-After")
        return [(b"access-control-allow-origin", origin), exposed, (b"vary", b"Origin")]


def _round(query: bytes, rounds: bool) -> int | None:
    """The round that the address names: a survey with rounds needs it, another has round 1 only, named or not."""
    if not rounds and query in (b"", b"round=1"):
        return None
    named = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    if not rounds:
        raise Refusal("malformed", "this survey has no rounds; leave ?round= out, and every other parameter")
    if len(named) != 1 or not re.fullmatch("round=[1-9][0-9]{0,8}", "=".join(named[0])):
        raise Refusal("malformed", "this survey has rounds; the address must end with ?round=N and nothing more")
    return int(named[0][1])


async def _body(length: bytes | None, receive: Receive) -> bytes:
    """The whole body; Refusal where it is too large, before more of it is kept."""
    if length is not None and length.isdigit() and int(length[:12]) > bodies.MOST_BYTES:
        raise _too_large()
    message = await receive()
    body: bytes = message.get("body", b"")
    if message["type"] == "http.request" and message.get("more_body"):
        parts, size = [body], len(body)
        while message.get("more_body"):
            message = await receive()
            if message["type"] != "http.request":
                break
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > bodies.MOST_BYTES:
                raise _too_large()
        body = b"".join(parts)
    if message["type"] != "http.request":
        raise Refusal("malformed", "the connection ended before the body did")
    if len(body) > bodies.MOST_BYTES:
        raise _too_large()
    return body


def _too_large() -> Refusal:
    return Refusal("too-large", f"the body must have at most {bodies.MOST_BYTES:,} bytes; send fewer reports at once")
