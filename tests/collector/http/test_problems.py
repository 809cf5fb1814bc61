"""Whatever a request raises becomes a problem document with a stable code, and nothing of the inside gets out."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest
import redis
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from hearsay.collector import errors
from hearsay.collector.http.checks import health_routes
from hearsay.collector.http.problems import MEDIA_TYPE, STATUS, Problem, handlers
from hearsay.collector.http.server import HttpServer
from hearsay.errors import HearsayError
from hearsay.mechanisms.errors import QueryError, SpecificationError


@contextmanager
def browser(app: Starlette) -> Iterator[httpx.Client]:
    with HttpServer(app, "127.0.0.1", 0) as server, httpx.Client(base_url=server.url) as client:
        yield client


def failing(raised: Exception) -> Starlette:
    def fail(request: object) -> Response:
        raise raised

    return Starlette(routes=[Route("/", fail)], exception_handlers=handlers())


def answer(raised: Exception) -> httpx.Response:
    with browser(failing(raised)) as client:
        return client.get("/")


@pytest.mark.parametrize(
    ("raised", "status", "code", "error"),
    [
        (QueryError("range must be in 0..3, got 9"), 400, "query", "range must be in 0..3, got 9"),
        (SpecificationError("fanout must be at least 2"), 500, "specification", "fanout must be at least 2"),
        (errors.UnknownSurvey("no such survey"), 404, "unknown-survey", "no such survey"),
        (errors.SurveyClosed("closed"), 410, "closed", "closed"),
        (errors.RoundClosed("round 1 is over", 1, 3), 410, "round-over", "round 1 is over"),
        (errors.ServerError("away"), 503, "server", "away"),
        (errors.StateError("damaged"), 500, "state", "damaged"),
        (redis.exceptions.ConnectionError("10.0.0.7:6379"), 503, "server", "the Redis server cannot be reached"),
        (Problem(413, "too-large", "at most 1 MiB"), 413, "too-large", "at most 1 MiB"),
        (ZeroDivisionError("a value"), 500, "internal", "internal error"),
    ],
    ids=lambda case: type(case).__name__ if isinstance(case, Exception) else "",
)
def test_what_is_raised_becomes_a_problem_document(raised: Exception, status: int, code: str, error: str) -> None:
    response = answer(raised)
    assert response.status_code == status
    assert response.headers["content-type"] == MEDIA_TYPE
    document = response.json()
    assert document.pop("title")
    assert document == {
        "type": f"urn:hearsay:problem:{code}",
        "status": status,
        "detail": error,
        "code": code,
        "error": error,
    }


def test_refusals_of_the_protocol_itself_have_codes() -> None:
    with browser(failing(ValueError())) as client:
        assert client.get("/nowhere").json()["code"] == "not-found"
        refused = client.post("/")
    assert (refused.status_code, refused.json()["code"]) == (405, "method")
    assert set(refused.headers["allow"].split(", ")) == {"GET", "HEAD"}


@pytest.mark.parametrize(("wait_s", "header"), [(0.05, "1"), (2.0, "2"), (2.1, "3")])
def test_a_refusal_says_when_to_try_again(wait_s: float, header: str) -> None:
    response = answer(Problem(429, "rate", "too many", retry_after_s=wait_s, limit=5))
    assert (response.headers["retry-after"], response.json()["limit"]) == (header, 5)


def test_every_error_has_a_status_of_its_own_or_its_nearest_base() -> None:
    assert STATUS[HearsayError] == 500
    assert answer(errors.ReportsLost("lost")).status_code == 500


@pytest.mark.parametrize(
    ("alive", "trouble", "health", "ready"),
    [
        (lambda: True, lambda: None, (200, "alive"), (200, "ready")),
        (lambda: False, lambda: "no worker", (503, "stuck"), (503, "not ready")),
    ],
)
def test_health_checks(
    alive: Callable[[], bool],
    trouble: Callable[[], str | None],
    health: tuple[int, str],
    ready: tuple[int, str],
) -> None:
    with browser(Starlette(routes=health_routes(alive, trouble))) as client:
        answers = [client.get(path) for path in ("/healthz", "/readyz")]
    assert [(answer.status_code, answer.json()["status"]) for answer in answers] == [health, ready]
    assert answers[1].json().get("error") == trouble()
