"""Questions over HTTP: one window, or many windows one after the other; as JSON or as CSV."""

import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from hearsay.collector.store.registry import Registered, Registry, SurveyLook
from hearsay.collector.survey.windows import ALL, Window
from hearsay.estimator.live import Live
from hearsay.estimator.readings import Readings
from hearsay.estimator.serving.page.truth import Truth
from hearsay.estimator.waiting import with_waiting
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.queries.answer import Answer, tables
from hearsay.mechanisms.questions import Question, answer, check_reports, parse_text, unit_of

PARAMETERS = ("q", "window", "count", "postprocess", "simultaneous", "format")
ANSWERS_LIMIT = 100_000  # a larger answer belongs into a snapshot's arrays
WINDOWS_LIMIT = 1_000  # of a series
FORMATS = ("json", "csv")


class Answers:
    """Answers requests from the readings that the estimator's pass shares."""

    def __init__(self, registry: Registry, readings: Readings, truth: Truth | None = None) -> None:
        self._registry, self._readings, self._truth = registry, readings, truth

    def query(self, request: Request) -> Response:
        """`/api/surveys/{name}/query`."""
        parameters = _checked(request, PARAMETERS)
        registered = self._registry.get(request.path_params["name"])
        question, window = parse_text(parameters.get("q", "")), parameters.get("window", ALL)
        seen = registered.look()
        try:
            current = self._readings.live(registered, window, seen)
            check_reports(current.sum.reports, registered.survey.minimum_reports)
        except QueryError as refusal:
            raise with_waiting(refusal, seen.waiting_reports) from None
        tag = _tag(registered, request.url.query, current.version, seen.waiting_reports)
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers={"ETag": tag})
        answers = _ask(question, current, parameters)
        listed = tables(answers)
        document: dict[str, Any] = {
            "survey": registered.survey.name,
            "window": window,
            "reports": current.sum.reports,
            "waiting": seen.waiting_reports,
            "left_out": current.left_out,
            "unit": "reports" if _flag(parameters, "count") else unit_of(question.text, current.estimate()),
            "answers": listed,
        }
        if self._truth is not None and not _flag(parameters, "count"):
            document |= self._truth.of(current.estimate().domain, registered.survey.name, question, answers)
        return _respond(document, listed, parameters, tag)

    def series(self, request: Request) -> Response:
        """`/api/surveys/{name}/series`: the same question to each of the last windows."""
        parameters = _checked(request, ("q", "windows", "count", "postprocess", "simultaneous", "format"))
        registered = self._registry.get(request.path_params["name"])
        question, wanted = parse_text(parameters.get("q", "")), _number(parameters.get("windows", "20"))
        seen = registered.look()
        rows = [self._in_window(registered, seen, window, question, parameters) for window in seen.windows[-wanted:]]
        listed = [{"window": row["window"], **each} for row in rows for each in row["answers"]]
        return _respond(rows, listed, parameters, _tag(registered, request.url.query, json.dumps(rows)))

    def _in_window(
        self,
        registered: Registered,
        seen: SurveyLook,
        window: Window,
        question: Question,
        parameters: Mapping[str, str],
    ) -> dict[str, Any]:
        row: dict[str, Any] = {"window": window.name, "start": _moment(window.start_ms), "end": _moment(window.end_ms)}
        current = self._readings.live(registered, window.name, seen)
        row |= {"status": "final" if current.final else "partial", "reports": current.sum.reports, "answers": []}
        try:
            check_reports(current.sum.reports, registered.survey.minimum_reports)
            row["answers"] = tables(_ask(question, current, parameters))
        except QueryError as refusal:
            if current.sum.reports >= max(registered.survey.minimum_reports, 1):
                raise  # the question itself is refused, in every window alike
            row["error"] = str(refusal)
        return row


def _ask(question: Question, current: Live, parameters: Mapping[str, str]) -> list[Answer]:
    survey = current.survey
    return answer(
        question,
        current.estimate(),
        minimum_reports=survey.minimum_reports,
        count=_flag(parameters, "count"),
        limit=ANSWERS_LIMIT,
        postprocess=parameters.get("postprocess"),
        default=survey.postprocess,
        simultaneous=_flag(parameters, "simultaneous"),
    )


def _checked(request: Request, allowed: Sequence[str]) -> Mapping[str, str]:
    parameters = request.query_params
    for name in parameters:
        if name not in allowed:
            raise QueryError(f"parameter must be one of {', '.join(allowed)}, got {name!r}")
    if parameters.get("format", "json") not in FORMATS:
        raise QueryError(f"format must be one of {', '.join(FORMATS)}, got {parameters['format']!r}")
    return parameters


def _flag(parameters: Mapping[str, str], name: str) -> bool:
    text = parameters.get(name, "0")
    if text not in ("0", "1", "false", "true"):
        raise QueryError(f"{name} must be 0 or 1, got {text!r}")
    return text in ("1", "true")


def _number(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(WINDOWS_LIMIT)) else 0
    if not 1 <= number <= WINDOWS_LIMIT:
        raise QueryError(f"windows must be a whole number in 1..{WINDOWS_LIMIT}, got {text!r}")
    return number


def _tag(registered: Registered, *parts: object) -> str:
    """Tells versions of an answer apart; weak, because it may be compressed on its way."""
    text = "\n".join([registered.survey.tag, *(str(part) for part in parts)])
    return f'W/"{hashlib.sha256(text.encode()).hexdigest()[:20]}"'


def tagged(document: bytes, request: Request) -> Response:
    """JSON that many ask for again and again: 304 while it is the same."""
    tag = f'W/"{hashlib.sha256(document).hexdigest()[:20]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(document, media_type="application/json", headers=headers)


def _respond(document: Any, tables: Sequence[Mapping[str, Any]], parameters: Mapping[str, str], tag: str) -> Response:
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if parameters.get("format") == "csv":
        return Response(as_csv(tables), media_type="text/csv; charset=utf-8", headers=headers)
    return JSONResponse(document, headers=headers)


def as_csv(tables: Sequence[Mapping[str, Any]]) -> str:
    """Answers as a table: the ends of a stretch are two columns, a cell is one column for each attribute."""
    rows = [_flat(table) for table in tables]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _flat(table: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            row |= _flat(value)
        elif isinstance(value, list):
            row |= {f"{above}{name}_{end}": each for end, each in zip(("low", "high"), value, strict=False)}
        else:
            row[f"{above}{name}"] = value
    return row


def _moment(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return datetime.fromtimestamp(milliseconds / 1_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
