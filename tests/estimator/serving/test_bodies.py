"""Bodies of responses: made once, bounded, compressed where that is taken."""

import gzip
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.requests import Request

from hearsay.estimator.serving.bodies import COMPRESSED_BYTES, Bodies, Body
from hearsay.mechanisms.errors import QueryError


def test_who_asks_at_the_same_time_waits_for_one() -> None:
    bodies, made, go = Bodies(), list[int](), threading.Event()

    def make() -> Body:
        made.append(1)
        go.wait(5)
        return Body(b"answer", "text/plain")

    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(bodies.of, "version 1", make) for _ in range(8)]
        go.set()
        assert {each.result().plain for each in asked} == {b"answer"}
    assert len(made) == 1


def test_a_refusal_is_not_kept() -> None:
    bodies = Bodies()

    def refuse() -> Body:
        raise QueryError("no reports yet")

    with pytest.raises(QueryError):
        bodies.of("version 1", refuse)
    assert bodies.of("version 1", lambda: Body(b"answer", "text/plain")).plain == b"answer"


def test_those_not_asked_for_longest_make_room() -> None:
    bodies, made = Bodies(kept_bytes=30), list[str]()

    def ask(tag: str) -> None:
        bodies.of(tag, lambda: made.append(tag) or Body(10 * b"x", "text/plain"))

    for tag in ("a", "b", "c", "a", "d", "a", "b"):
        ask(tag)
    assert made == ["a", "b", "c", "d", "b"]
    bodies.of("large", lambda: Body(100 * b"x", "text/plain"))
    assert not bodies._kept, "what does not fit is not kept, and what it displaced is gone"
    assert bodies._bytes == 0


def test_compressed_where_the_client_takes_it_and_it_pays() -> None:
    def request(*headers: tuple[bytes, bytes]) -> Request:
        return Request({"type": "http", "headers": list(headers)})

    body, takes = Body(COMPRESSED_BYTES * b"x", "text/plain"), (b"accept-encoding", b"br, gzip")
    response = body.respond(request(takes), "tag")
    assert (response.headers["content-encoding"], gzip.decompress(response.body)) == ("gzip", body.plain)
    assert "content-encoding" not in body.respond(request(), "tag").headers
    assert "content-encoding" not in Body(b"x", "text/plain").respond(request(takes), "tag").headers
