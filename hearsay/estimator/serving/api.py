"""Metrics, health and a JSON interface over HTTP. Errors are problem documents (`collector/http/problems`).

/metrics  /healthz  /readyz
/api/surveys
/api/surveys/{name}
/api/surveys/{name}/round
/api/surveys/{name}/windows
/api/surveys/{name}/snapshots/{window}
/api/surveys/{name}/query?q=range+3+9&window=last:2&count=1
/api/surveys/{name}/query?q=frequencies&postprocess=simplex&simultaneous=1
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hearsay.collector.health.loop import Health
from hearsay.collector.health.troubles import holding_all, holding_up
from hearsay.collector.http.checks import health_routes
from hearsay.collector.http.problems import Problem, handlers
from hearsay.collector.offers import open_offer
from hearsay.collector.store.registry import Registered, Registry, SurveyLook, look_at
from hearsay.collector.survey.windows import ALL
from hearsay.estimator.readings import Readings
from hearsay.estimator.serving.exporter import PipelineMetrics
from hearsay.estimator.snapshots import in_redis as published
from hearsay.estimator.waiting import with_waiting
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.exact.randomness import secure
from hearsay.mechanisms.queries.answer import tables
from hearsay.mechanisms.questions import answer, check_reports, parse_text

PARAMETERS = ("q", "window", "count", "postprocess", "simultaneous")
SHARED = "public, max-age=10"  # a round that is over is refused by the server, however long its offer was kept
ANSWERS_LIMIT = 100_000  # a larger answer belongs into a snapshot's arrays


def create_app(
    registry: Registry, health: Health, failures: Mapping[str, int], readings: Readings | None = None
) -> Starlette:
    """The application. It looks at the server at every request; `readings` are those of the estimator's pass."""
    interface = Interface(registry, health, failures, Readings() if readings is None else readings)
    survey = "/api/surveys/{name}"
    routes: dict[str, Callable[[Request], Response | Awaitable[Response]]] = {
        "/metrics": interface.metrics,
        "/api/surveys": interface.surveys,
        survey: interface.survey,
        f"{survey}/round": interface.round,
        f"{survey}/windows": interface.windows,
        f"{survey}/snapshots/{{window}}": interface.snapshot,
        f"{survey}/query": interface.query,
    }
    return Starlette(
        routes=[
            *(Route(path, endpoint) for path, endpoint in routes.items()),
            *health_routes(health.alive, interface.trouble, interface.troubles_of_surveys),
        ],
        exception_handlers=handlers(),
    )


class Interface:
    """What each address answers."""

    def __init__(self, registry: Registry, health: Health, failures: Mapping[str, int], readings: Readings) -> None:
        self._registry, self._health, self._readings = registry, health, readings
        self._metrics = CollectorRegistry(auto_describe=False)
        self._metrics.register(PipelineMetrics(registry, failures))

    def metrics(self, request: Request) -> Response:
        return Response(generate_latest(self._metrics), media_type=CONTENT_TYPE_LATEST)

    def trouble(self) -> str | None:
        """Why no survey's answers are up to date, in one line; None: those of some are."""
        own = self._health.trouble()
        return own if own is not None else holding_all(self._registry)

    def troubles_of_surveys(self) -> list[str]:
        """What holds up single surveys while others go on."""
        return [trouble.words for trouble in holding_up(self._registry)]

    def surveys(self, request: Request) -> Response:
        return JSONResponse([_summary(seen) for seen in look_at(self._registry.list())])

    def survey(self, request: Request) -> Response:
        seen = self._get(request).look()
        survey = seen.survey
        guarantee = survey.mechanism.guarantee
        return JSONResponse(
            {
                **_summary(seen),
                "definition": survey.canonical(),
                "reason": survey.reason,
                "guarantee": {**guarantee.table(), "words": guarantee.words()},
                "status": [asdict(look.status) for look in seen.shards],
            }
        )

    def round(self, request: Request) -> Response:
        """The open round as one device gets it. Nobody may keep what was drawn for one device."""
        registered = self._get(request)
        offer = open_offer(registered, secure())
        if offer is None:
            raise Problem(409, "no-round", f"survey {registered.survey.name} has no open round")
        for_all = offer.number == 1 or offer.parameters == registered.stores[0].rounds().newest.parameters
        return JSONResponse(offer.table(), headers={"Cache-Control": SHARED if for_all else "no-store"})

    def windows(self, request: Request) -> Response:
        """Every window, oldest first, with what its snapshot says in short."""
        registered = self._get(request)
        fields = ("status", "reports", "withheld", "version", "generated_at", "window_start", "window_end")
        listed = []
        for window in registered.look().windows:
            document = published.get(registered, window.name) or {}
            listed.append({"window": window.name, **{field: document.get(field) for field in fields}})
        return JSONResponse(listed)

    def snapshot(self, request: Request) -> Response:
        registered, window = self._get(request), request.path_params["window"]
        document = published.get(registered, window) if window in _names(registered.look()) else None
        if document is None:
            raise Problem(404, "no-snapshot", f"survey {registered.survey.name} has no snapshot of window {window}")
        return JSONResponse(document)

    def query(self, request: Request) -> Response:
        registered = self._get(request)
        parameters = request.query_params
        for name in parameters:
            if name not in PARAMETERS:
                raise QueryError(f"parameter must be one of {', '.join(PARAMETERS)}, got {name!r}")
        question = parse_text(parameters.get("q", ""))
        window = parameters.get("window", ALL)
        count, simultaneous = (_flag(name, parameters.get(name, "0")) for name in ("count", "simultaneous"))
        seen = registered.look()
        try:
            current = self._readings.live(registered, window, seen)
            check_reports(current.sum.reports, registered.survey.minimum_reports)
        except QueryError as refusal:
            raise with_waiting(refusal, seen.waiting_reports) from None
        answers = answer(
            question,
            current.estimate(),
            minimum_reports=registered.survey.minimum_reports,
            count=count,
            limit=ANSWERS_LIMIT,
            postprocess=parameters.get("postprocess"),
            default=registered.survey.postprocess,
            simultaneous=simultaneous,
        )
        return JSONResponse(
            {
                "survey": registered.survey.name,
                "window": window,
                "reports": current.sum.reports,
                "waiting": seen.waiting_reports,
                "left_out": current.left_out,
                "answers": tables(answers),
            }
        )

    def _get(self, request: Request) -> Registered:
        return self._registry.get(request.path_params["name"])


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
        "windows": _names(seen),
    }


def _names(seen: SurveyLook) -> list[str]:
    """The windows that hold something, oldest first."""
    return [window.name for window in seen.windows]


def _flag(name: str, text: str) -> bool:
    if text not in ("0", "1", "false", "true"):
        raise QueryError(f"{name} must be 0 or 1, got {text!r}")
    return text in ("1", "true")
