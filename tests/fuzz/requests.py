"""Requests to the real HTTP server over a socket: answered with a status below 500, or the connection is closed.

The time is that of the whole process: of the server's threads too. Connections are kept from plain request to plain
request.
"""

import logging
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from random import Random
from urllib.parse import quote, quote_plus

import redis

from hearsay.collector.health.loop import Health
from hearsay.collector.http.server import HttpServer
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.estimator.serving.answers import PARAMETERS
from hearsay.estimator.serving.api import create_app
from hearsay.mechanisms.catalogue import QUERIES
from hearsay.workers.context import Context, set_current
from tests.estimator.surveys import deliver
from tests.fuzz.octets import NASTY_TEXT, damaged, damaged_text
from tests.fuzz.tally import Tally

SURVEYS = {
    "colours": {"mechanism": "hrr", "domain": {"kind": "categorical", "categories": ["red", "green", "blue"]}},
    "minutes": {"mechanism": "haar", "domain": {"kind": "ordinal", "size": 64}},
    "heights": {"mechanism": "hierarchical", "domain": {"kind": "ordinal", "low": 0.0, "high": 2.0, "bins": 16}},
    "map": {"mechanism": "metric-l1", "domain": {"kind": "grid", "sizes": [4, 6]}},
    "habits": {"mechanism": "marg-ht", "domain": {"kind": "attributes", "names": ["a", "b", "c"]}},
    "stars": {"mechanism": "pckv-ue", "domain": {"kind": "key-value", "keys": 5}},
    "visits": {"mechanism": "gm", "domain": {"kind": "count", "max": 9}},
    "empty": {"mechanism": "grr", "domain": {"kind": "binary"}},
}
# Of every survey some questions that have an answer.
QUESTIONS = {
    "colours": ("frequencies", "top 2", "point red"),
    "minutes": ("range 3 9", "quantile 0.5", "cdf", "prefix 4", "frequencies"),
    "heights": ("range 0.5 1.5", "quantile 0.1", "point 1.0"),
    "map": ("range 0:2 1:3", "point 1 2", "top 3"),
    "habits": ("marginal a b", "correlations", "tree", "conditional a given b"),
    "stars": ("frequencies", "means", "point 3"),
    "visits": ("frequencies", "mean", "sum"),
    "empty": ("frequencies",),
}
_WORDS = (
    "0", "1", "2", "3", "63", "-1", "0.5", "1.5", "0:2", "1:1", "3:1", "a", "b", "c", "a=0", "a=1", "given",
    "red", "green", "nan", "inf", "1e308", "999999999999", "0:", ":", "::", "a b", "''", "x", "0.5:1.5", "mean",
    "1e-320", "0x1",
)  # fmt: skip
_PATHS = (
    "/", "/metrics", "/healthz", "/readyz", "/api/surveys", "/api/surveys/{}", "/api/surveys/{}/windows",
    "/api/surveys/{}/snapshots/all", "/api/surveys/{}/snapshots/{}", "/api/surveys/{}/query", "/api/surveys/{}/query/",
    "/api//surveys", "/api/surveys/{}/../colours", "/api/surveys/%2e%2e/query", "/static/x", "*",
)  # fmt: skip
_HEADERS = (
    "Content-Length: 5", "Content-Length: -1", "Content-Length: 99999999999999999999", "Transfer-Encoding: chunked",
    "Transfer-Encoding: chunked, identity", "Connection: close", "Connection: upgrade", "Upgrade: websocket",
    "Expect: 100-continue", "Accept-Encoding: gzip", "Range: bytes=0-", "Cookie: a=b", "X: " + "y" * 3_000, ": empty",
    "Host: other", "Sec-WebSocket-Key: x", "Accept: \x00", "Authorization: Basic !!",
    "Content-Type: multipart/form-data", "If-None-Match: *", "Folded: a\r\n b",
)  # fmt: skip
# A request after which the server waits for nothing but the next one.
_PLAIN = re.compile(rb"[A-Z]+ [ -~]+ HTTP/1.1\r\n(?:(?:Host|Accept|Cookie|Range|X): [ -~]+\r\n)*\r\n")
_LIMIT_BYTES = 1 << 20
_PATIENCE_S = 1.0


class Line:
    """A connection to the server that is opened again whenever it is closed."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None

    def ask(self, request: bytes) -> str:
        """The outcome: `2xx` and so on, `closed` without a word, or `waits` for the rest of half a request."""
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=_PATIENCE_S)
        try:
            self._socket.sendall(request)
            if b"\r\n\r\n" not in request:
                self._socket.shutdown(socket.SHUT_WR)
            answer = self._receive(request.startswith(b"HEAD "))
        except ConnectionError:
            answer = b""
        except TimeoutError:
            self.hang_up()
            return "waits"
        if not answer:
            self.hang_up()
            return "closed"
        assert re.match(rb"HTTP/1\.[01] [1-5]\d\d ", answer), answer[:200]
        status = answer[9:12].decode()
        assert status < "500", answer[:1_000]
        if b"connection: close" in answer.lower() or not _PLAIN.fullmatch(request):
            self._send_a_body(request)
            self.hang_up()
        return f"{status[0]}xx"

    def _send_a_body(self, request: bytes) -> None:
        """What the server may still wait for, or may not; nobody reads what it says to that."""
        if self._socket is not None and len(request) % 2:
            with suppress(OSError):
                self._socket.sendall(request[-1 - len(request) % 40 :])

    def hang_up(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def _receive(self, only_head: bool) -> bytes:
        """One response, or all there is until the server hangs up."""
        assert self._socket is not None
        received = b""
        while len(received) < _LIMIT_BYTES:
            part = self._socket.recv(65_536)
            if not part:
                break
            received = (received + part).removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
            head, found, body = received.partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head.lower())
            if found and (only_head or (length and len(body) >= int(length[1]))):
                break
        return received


def request(random: Random) -> bytes:
    """A request, now and then damaged as a whole."""
    path, asked = random.choice(_PATHS), None
    if random.random() < 0.3:
        name = random.choice(list(QUESTIONS))
        path, asked = f"/api/surveys/{name}/query", random.choice(QUESTIONS[name])
    while "{}" in path:
        path = path.replace("{}", random.choice((*SURVEYS, quote(random.choice(NASTY_TEXT)), "nobody")), 1)
    if "/query" in path or random.random() < 0.1:
        path += "?" + _query(random, asked)
    if random.random() < 0.1:
        path = quote(damaged_text(random, path)[:4_000], safe="/?=&%+")
    method = random.choice(("GET", "GET", "GET", "GET", "HEAD", "POST", "OPTIONS", "get", "PUT", "TRACE", "X" * 20))
    headers = ["Host: [::1]", *(random.choice(_HEADERS) for _ in range(random.choice((0, 0, 0, 0, 1, 2))))]
    if random.random() < 0.01:
        headers += ["A: b"] * 300
    version = random.choice(("HTTP/1.1",) * 12 + ("HTTP/1.0", "HTTP/2.0", "HTTP/9", "", "RTSP/1.0"))
    text = f"{method} {path} {version}\r\n" + "\r\n".join(headers) + "\r\n\r\n"
    octets = text.encode("latin-1", errors="replace")
    if random.random() < 0.15:
        return damaged(random, octets) + random.choice((b"", b"hello", b"\r\n\r\n"))
    return octets


def _query(random: Random, asked: str | None) -> str:
    """A query string: mostly a question with the words that its verb could have."""
    words = [random.choice(_WORDS) for _ in range(random.choice((0, 1, 1, 2, 3)))]
    question = asked or " ".join((random.choice((*QUERIES, "", "sideways")), *words))
    if random.random() < 0.15:
        question = damaged_text(random, question)[:2_000]
    parts = {"q": question}
    for name in PARAMETERS[1:]:
        if random.random() < 0.12:
            parts[name] = random.choice(
                ("0", "1", "all", "last:1", "last:0", "simplex", "norm-sub", "none", *NASTY_TEXT)
            )
    if random.random() < 0.03:
        parts[random.choice(("Q", "", "x", "q[]"))] = "1"
    text = "&".join(f"{name}={quote_plus(value, errors='replace')}" for name, value in parts.items())
    return text + random.choice(("",) * 10 + ("&", "&q=top+1", "%", "%zz", "&&==", "#", ";"))


class _Caught(logging.Handler):
    """Whatever the server logs with a traceback."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info or record.levelno >= logging.ERROR:
            self.found.append(self.format(record))


@contextmanager
def serving(client: redis.Redis, prefix: str) -> Iterator[tuple[int, _Caught]]:
    """The server with surveys of every kind, and what it logs."""
    set_current(Context(client, prefix))
    registry = Registry(client, prefix)
    for name, table in SURVEYS.items():
        registered = registry.add(parse({"name": name, "epsilon": 2.0, **table}))
        if name != "empty":
            deliver(registered, 300)
    health, caught = Health(), _Caught()
    health.passed()
    logging.getLogger().addHandler(caught)
    try:
        with HttpServer(create_app(registry, health, {}), "127.0.0.1", 0) as server:
            yield server.port, caught
    finally:
        logging.getLogger().removeHandler(caught)


def run(tally: Tally, seed: int, cases: int, client: redis.Redis, prefix: str) -> None:
    random = Random(seed)
    with serving(client, prefix) as (port, caught):
        line = Line(port)
        for name, questions in QUESTIONS.items():  # imports what answers need
            for question in questions:
                line.ask(
                    f"GET /api/surveys/{name}/query?q={quote_plus(question)} HTTP/1.1\r\nHost: [::1]\r\n\r\n".encode()
                )
        for _ in range(cases):
            octets = request(random)

            def execute(octets: bytes = octets) -> str:
                outcome = line.ask(octets)
                assert not caught.found, caught.found.pop()
                return outcome

            tally.run(octets, execute, clock=time.process_time)
        line.hang_up()
