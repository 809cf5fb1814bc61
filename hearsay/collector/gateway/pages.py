"""Everything that the gateway answers beside reports: what a survey asks and promises, its open round, its own rules.

GET /v1/surveys/{name}         definition, tag, guarantee, participation, whether it is open, the form for devices
GET /v1/surveys/{name}/round   the open round, as one device gets it
GET /v1/device.js              a device for browsers
GET /v1/openapi.json  /v1/     these rules, for programs and for people
GET /healthz  /readyz
"""

from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any

import redis
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from hearsay.collector.describe.device_form import device_form
from hearsay.collector.errors import UnknownSurvey
from hearsay.collector.gateway.openapi import document
from hearsay.collector.gateway.readable import page
from hearsay.collector.gateway.refusals import Refusal
from hearsay.collector.http.checks import health_routes
from hearsay.collector.http.problems import handlers
from hearsay.collector.http.rounds import SHARED, offer_response
from hearsay.collector.offers import open_offer
from hearsay.collector.store.condition import why
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import Survey
from hearsay.mechanisms.exact.randomness import secure

DEVICE_JS = files("hearsay.collector.gateway").joinpath("device.js")
DESCRIBED = "public, max-age=1"  # a page that opens after a close must not make a report in vain
HEADERS = ("Content-Type", "Idempotency-Key", "Authorization")


def participation(survey: Survey) -> dict[str, Any]:
    """How often a device takes part, and what that spends per report, per day and over a life."""
    return survey.participation.describe(survey.epsilon, survey.windows, survey.mechanism.memoised_buckets)


class Pages:
    """Each address reads Redis, in a thread, and keeps nothing."""

    def __init__(self, registry: Registry, limit: Callable[[Request], None]) -> None:
        self._registry, self._limit = registry, limit

    def survey(self, request: Request) -> Response:
        registered = self._get(request)
        survey = registered.survey
        guarantee, seen = survey.mechanism.guarantee, registered.look()
        return JSONResponse(
            {
                "definition": survey.canonical(),
                "tag": survey.tag,
                "guarantee": {**guarantee.table(), "words": guarantee.words()},
                "participation": participation(survey),
                "open": not seen.closed,
                "birth": seen.birth,
                **device_form(survey),
            },
            headers={"Cache-Control": DESCRIBED},
        )

    def round(self, request: Request) -> Response:
        registered = self._get(request)
        return offer_response(registered.survey, open_offer(registered, secure()))

    def _get(self, request: Request) -> Registered:
        self._limit(request)
        try:
            return self._registry.get(request.path_params["name"])
        except UnknownSurvey:
            raise Refusal("unknown-survey", "no survey of this name is registered") from None


def create_pages(
    registry: Registry,
    limit: Callable[[Request], None],
    is_alive: Callable[[], bool],
    trouble: Callable[[], str | None],
    of_parts: Callable[[], Sequence[str]],
    refuse: Callable[[Refusal], Response],
    origins: Sequence[str] = (),
) -> Starlette:
    """The application for all but reports. `limit` raises where an address asks too often, `refuse` counts."""
    pages = Pages(registry, limit)

    def on_refusal(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refusal)
        return refuse(error)

    def on_server(request: Request, error: Exception) -> Response:
        assert isinstance(error, redis.exceptions.RedisError)
        return refuse(Refusal("server", why(error)))

    shared = Middleware(
        CORSMiddleware,
        allow_origins=list(origins),
        allow_methods=["GET", "POST"],
        allow_headers=list(HEADERS),
        expose_headers=["Retry-After"],
    )
    return Starlette(
        routes=[
            Route("/v1/surveys/{name}", pages.survey),
            Route("/v1/surveys/{name}/round", pages.round),
            Route("/v1/surveys/{name}/reports", _posted, methods=["POST"]),
            Route("/v1/device.js", _device_js),
            Route("/v1/openapi.json", lambda request: JSONResponse(document())),
            Route("/v1/", lambda request: HTMLResponse(page(document()), headers=PAGE_HEADERS)),
            *health_routes(is_alive, trouble, of_parts),
        ],
        middleware=[shared] if origins else [],
        exception_handlers={**handlers(), Refusal: on_refusal, redis.exceptions.RedisError: on_server},
    )


PAGE_HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}


def _device_js(request: Request) -> Response:
    """Pages of other origins import it where they may send reports."""
    headers = {"Cache-Control": SHARED, "X-Content-Type-Options": "nosniff"}
    return Response(DEVICE_JS.read_bytes(), media_type="text/javascript", headers=headers)


async def _posted(request: Request) -> Response:
    """Reports never come here; the route is there for its name, so that other methods are refused."""
    raise AssertionError("reports are taken before")
