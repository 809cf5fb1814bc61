"""Metrics, health and a JSON interface over HTTP. Errors are problem documents (`collector/http/problems`).

/metrics  /healthz  /readyz
/api/surveys
/api/surveys/{name}
/api/surveys/{name}/round
/api/surveys/{name}/windows
/api/surveys/{name}/snapshots/{window}
/api/surveys/{name}/query?q=range+3+9&window=last:2&count=1
/api/surveys/{name}/query?q=frequencies&postprocess=simplex&simultaneous=1&format=csv
/api/surveys/{name}/series?q=range+3+9&windows=20
/api/overview  /api/events  /api/openapi.json
/api/plan?kind=ordinal&size=1024&query=range+3+9&users=10000&epsilon=1&curve=haar
/  /plan  /surveys/{name}  /assets/{path}
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hearsay.collector.health.loop import Health
from hearsay.collector.health.troubles import holding_all
from hearsay.collector.http.checks import health_routes
from hearsay.collector.http.problems import Problem, handlers
from hearsay.collector.http.rounds import offer_response
from hearsay.collector.offers import open_offer
from hearsay.collector.store.registry import Registered, Registry, SurveyLook, look_at_parts
from hearsay.estimator.readings import Readings
from hearsay.estimator.serving.answers import Answers, tagged
from hearsay.estimator.serving.bodies import COMPRESSED_BYTES, LEVEL
from hearsay.estimator.serving.detail import Details
from hearsay.estimator.serving.events import Feed
from hearsay.estimator.serving.exporter import PipelineMetrics
from hearsay.estimator.serving.known import Known
from hearsay.estimator.serving.openapi import document
from hearsay.estimator.serving.overview import Overview
from hearsay.estimator.serving.page.guard import Guard
from hearsay.estimator.serving.page.site import page_routes
from hearsay.estimator.serving.page.truth import Truth
from hearsay.estimator.serving.planning import Planner
from hearsay.estimator.serving.token import TokenGuard
from hearsay.mechanisms.exact.randomness import secure
from hearsay.release import release


def create_app(
    registry: Registry,
    health: Health,
    failures: Mapping[str, int],
    readings: Readings | None = None,
    *,
    overview: Overview | None = None,
    feed: Feed | None = None,
    truth: Truth | None = None,
    public_hosts: Sequence[str] = (),
    token: str | None = None,
    known: Known | None = None,
    planner: Planner | None = None,
) -> Starlette:
    """The application. It looks at the server at every request that does not take what the pass saw last.

    `readings` are those of the estimator's pass.
    """
    readings = Readings() if readings is None else readings
    known = Known(registry, health) if known is None else known
    overview = Overview(registry, health, {}, 1.0, known) if overview is None else overview
    feed = Feed(overview.document) if feed is None else feed
    interface = Interface(registry, health, failures, readings, known)
    answers = Answers(registry, readings, known, truth)
    survey = "/api/surveys/{name}"
    routes: dict[str, Callable[[Request], Response | Awaitable[Response]]] = {
        "/metrics": interface.metrics,
        "/api/surveys": interface.surveys,
        survey: interface.survey,
        f"{survey}/round": interface.round,
        f"{survey}/windows": interface.windows,
        f"{survey}/snapshots/{{window}}": interface.snapshot,
        f"{survey}/query": answers.query,
        f"{survey}/series": answers.series,
        "/api/overview": lambda request: tagged(overview.document(), request),
        "/api/events": feed.respond,
        "/api/openapi.json": lambda request: JSONResponse(document(release())),
        "/api/plan": (Planner() if planner is None else planner).respond,
    }
    return Starlette(
        routes=[
            *(Route(path, endpoint) for path, endpoint in routes.items()),
            *page_routes(),
            *health_routes(health.alive, interface.trouble, interface.troubles_of_parts),
        ],
        middleware=[
            Middleware(Guard, public_hosts=public_hosts),
            *([] if token is None else [Middleware(TokenGuard, token=token)]),
            Middleware(GZipMiddleware, minimum_size=COMPRESSED_BYTES, compresslevel=LEVEL),
        ],
        exception_handlers=handlers(),
    )


class Interface:
    """What each address answers."""

    def __init__(
        self, registry: Registry, health: Health, failures: Mapping[str, int], readings: Readings, known: Known
    ) -> None:
        self._registry, self._health, self._readings, self._known = registry, health, readings, known
        self._details = Details(readings)
        self._metrics = CollectorRegistry(auto_describe=False)
        self._metrics.register(PipelineMetrics(registry, failures, known))

    def metrics(self, request: Request) -> Response:
        return Response(generate_latest(self._metrics), media_type=CONTENT_TYPE_LATEST)

    def trouble(self) -> str | None:
        """Why no survey has answers that are up to date, in one line; None if at least one has."""
        own = self._health.trouble()
        return own if own is not None else holding_all(self._registry, self._known.troubles())

    def troubles_of_parts(self) -> list[str]:
        """What holds up single surveys while others go on, and memory that is short: writers wait, answers go on."""
        return [trouble.words for trouble in self._known.troubles() if trouble.holds_up or trouble.code == "memory"]

    def surveys(self, request: Request) -> Response:
        return _tagged([_summary(seen) for seen in look_at_parts(self._registry.list())], request)

    def survey(self, request: Request) -> Response:
        seen = self._get(request).look()
        survey = seen.survey
        guarantee = survey.mechanism.guarantee
        return _tagged(
            {
                **_summary(seen),
                "definition": survey.canonical(),
                "reason": survey.reason,
                "guarantee": {**guarantee.table(), "words": guarantee.words()},
                "status": [asdict(look.status) for look in seen.shards],
                **self._details.of(seen),
            },
            request,
        )

    def round(self, request: Request) -> Response:
        registered = self._get(request)
        return offer_response(registered.survey, open_offer(registered, secure()))

    def windows(self, request: Request) -> Response:
        """Every window, oldest first, with what its snapshot says in short."""
        registered = self._get(request)
        fields = ("status", "reports", "withheld", "version", "generated_at", "window_start", "window_end")
        listed = []
        for window in registered.look().windows:
            document = registered.shards[0].snapshot(window.name) or {}
            listed.append({"window": window.name, **{field: document.get(field) for field in fields}})
        return _tagged(listed, request)

    def snapshot(self, request: Request) -> Response:
        registered, window = self._get(request), request.path_params["window"]
        document = registered.shards[0].snapshot(window) if window in _names(registered.look()) else None
        if document is None:
            raise Problem(404, "no-snapshot", f"survey {registered.survey.name} has no snapshot of window {window}")
        return _tagged(document, request)

    def _get(self, request: Request) -> Registered:
        return self._registry.get(request.path_params["name"])


def _tagged(document: Any, request: Request) -> Response:
    return tagged(json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(), request)


def _summary(seen: SurveyLook) -> dict[str, Any]:
    survey = seen.survey
    return {
        "name": survey.name,
        "tag": survey.tag,
        "mechanism": survey.mechanism.ID,
        "epsilon": survey.epsilon,
        "domain": survey.mechanism.domain.kind,
        "shards": len(seen.shards),
        "closed": seen.closed,
        "minimum_reports": survey.minimum_reports,
        "simulated": seen.simulated_reports,
        "windows": _names(seen),
    }


def _names(seen: SurveyLook) -> list[str]:
    """The windows that hold something, oldest first."""
    return [window.name for window in seen.windows]
