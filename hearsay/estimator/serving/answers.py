"""Questions over HTTP: one window, or many windows one after the other; as JSON or as CSV."""

import csv
import hashlib
import io
import json
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from hearsay.collector.showing import flat
from hearsay.collector.store.registry import Registered, Registry, SurveyLook
from hearsay.collector.survey.survey import Survey
from hearsay.collector.survey.windows import ALL, Window
from hearsay.estimator.answering import refuse_options
from hearsay.estimator.comparing import Comparison, ask_trend
from hearsay.estimator.live import Live
from hearsay.estimator.readings import Readings
from hearsay.estimator.serving.bodies import Bodies, Body
from hearsay.estimator.serving.known import Known
from hearsay.estimator.serving.page.truth import Truth
from hearsay.estimator.waiting import with_waiting
from hearsay.mechanisms.changes import TREND, change, parse_trend
from hearsay.mechanisms.errors import QueryError, UnknownQuery
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.queries.answer import Answer, tables
from hearsay.mechanisms.questions import Question, answer, check_reports, parse_text, suggestion, unit_of

PARAMETERS = ("q", "window", "against", "count", "postprocess", "simultaneous", "format")
ANSWERS_LIMIT = 100_000  # a larger answer belongs into a snapshot's arrays
WINDOWS_LIMIT = 1_000  # of a series
KEPT_ROWS = 4_096  # rows of series of windows that are final, with at most so many answers each
KEPT_ANSWERS = 16
FORMATS = ("json", "csv")
_AGE = re.compile(r"\bmax-age=(\d{1,4})\b")  # of a request's Cache-Control: the client takes what is so old


class Answers:
    """Answers requests from the readings that the estimator's pass shares."""

    def __init__(self, registry: Registry, readings: Readings, known: Known, truth: Truth | None = None) -> None:
        self._registry, self._readings, self._known, self._truth = registry, readings, known, truth
        self._bodies = Bodies()
        self._comparison = Comparison(registry, readings)
        self._rows: OrderedDict[tuple[object, ...], dict[str, Any]] = OrderedDict()  # of final windows
        self._lock = threading.Lock()

    def query(self, request: Request) -> Response:
        """`/api/surveys/{name}/query`."""
        parameters = _checked(request, PARAMETERS)
        seen = self._look(request)
        registered = seen.registered
        text, window, against = parameters.get("q", ""), parameters.get("window", ALL), parameters.get("against")
        if text.startswith(TREND):
            return self._over_windows(request, seen, text, parameters)
        question, other = self._parsed(text, seen), None
        try:
            current = self._readings.live(registered, window, seen)
            if current.sum.reports < max(registered.survey.minimum_reports, 1):
                check_reports(current.sum.reports, registered.survey.minimum_reports)
            if against:
                other = self._comparison.other_side(registered, seen, window, against)
        except QueryError as refusal:
            raise with_waiting(refusal, seen.waiting_reports) from None
        versions = (current.sum.identity, current.left_out, "" if other is None else other.sum.identity)
        tag = _tag(registered, request.url.query, *versions, seen.waiting_reports)
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers={"ETag": tag})
        made = self._bodies.of(tag, lambda: self._answered(question, current, other, parameters, seen.waiting_reports))
        return made.respond(request, tag)

    def _parsed(self, text: str, seen: SurveyLook) -> Question:
        """The parsed question; an unknown one is refused with the nearest that this survey answers, if it has any."""
        try:
            return parse_text(text)
        except UnknownQuery as unknown:
            current = self._readings.live(seen.registered, ALL, seen)
            if current.sum.reports < max(seen.survey.minimum_reports, 1):
                raise
            raise suggestion(unknown.verb, current.estimate()) from None

    def _look(self, request: Request) -> SurveyLook:
        """The survey as it is now; as the loop saw it last where the client takes what is so old."""
        name = request.path_params["name"]
        age = _AGE.search(request.headers.get("cache-control", ""))
        recent = None if age is None else self._known.recent(name, float(age[1]))
        return self._registry.get(name).look() if recent is None else recent

    def _answered(
        self, question: Question, current: Live, other: Live | None, parameters: Mapping[str, str], waiting: int
    ) -> Body:
        estimate, survey, text = current.estimate(), current.survey, question.text
        plain = other is None and not {*parameters} - {"q", "window", "format"}
        answers = current.sum.answered(text) if plain else []
        answers = answers or _ask(question, survey, estimate, parameters, other)
        listed = tables(answers)
        document: dict[str, Any] = {
            "survey": survey.name,
            "query": text,
            "window": current.window,
            "reports": current.sum.reports,
            "waiting": waiting,
            "left_out": current.left_out,
            "unit": _unit(text, estimate, parameters),
            "answers": listed,
        }
        if other is not None:
            document["against"] = {"survey": other.survey.name, "window": other.window, "reports": other.reports}
        elif self._truth is not None and not _flag(parameters, "count"):
            document |= self._truth.of(estimate.domain, survey.name, question, answers)
        return _body(document, listed, parameters)

    def _over_windows(self, request: Request, seen: SurveyLook, text: str, parameters: Mapping[str, str]) -> Response:
        """The trend of a question."""
        for name in parameters:
            if name not in ("q", "format"):
                raise QueryError(f"{name} does not apply to trend, which is about all final windows; leave it out")
        registered, question = seen.registered, parse_trend(text)
        listed = tables(ask_trend(self._readings, registered, seen, question))
        document = {
            "survey": registered.survey.name,
            "query": f"{TREND} {question.text}",
            "windows": len(seen.final),
            "answers": listed,
            "unit": "own",
        }
        return _respond(request, registered, _body(document, listed, parameters))

    def series(self, request: Request) -> Response:
        """`/api/surveys/{name}/series`: the same question to each of the last windows."""
        parameters = _checked(request, ("q", "windows", "count", "postprocess", "simultaneous", "format"))
        seen = self._look(request)
        registered = seen.registered
        question, wanted = self._parsed(parameters.get("q", ""), seen), _number(parameters.get("windows", "20"))
        rows = [self._row(seen, window, question, parameters) for window in seen.windows[-wanted:]]
        listed = [{"window": row["window"], **each} for row in rows for each in row["answers"]]
        return _respond(request, registered, _body(rows, listed, parameters))

    def _row(
        self, seen: SurveyLook, window: Window, question: Question, parameters: Mapping[str, str]
    ) -> dict[str, Any]:
        """Of a window that is final the row is kept: nothing of it is read a second time."""
        if window not in seen.final:
            return self._in_window(seen, window, question, parameters)
        options = tuple(
            sorted((name, value) for name, value in parameters.items() if name not in ("windows", "format"))
        )
        counted = tuple(tuple(sorted(each.items())) for each in seen.counted[window])
        key = (seen.survey.tag, seen.birth, seen.run_ids, window.name, counted, options)
        with self._lock:
            row = self._rows.pop(key, None)
        if row is None:
            row = self._in_window(seen, window, question, parameters)
        if len(row["answers"]) <= KEPT_ANSWERS:
            with self._lock:
                self._rows[key] = row
                while len(self._rows) > KEPT_ROWS:
                    self._rows.popitem(last=False)
        return row

    def _in_window(
        self, seen: SurveyLook, window: Window, question: Question, parameters: Mapping[str, str]
    ) -> dict[str, Any]:
        registered = seen.registered
        row: dict[str, Any] = {"window": window.name, "start": _moment(window.start_ms), "end": _moment(window.end_ms)}
        current = self._readings.live(registered, window.name, seen)
        row |= {"status": "final" if current.final else "partial", "reports": current.sum.reports, "answers": []}
        try:
            check_reports(current.sum.reports, registered.survey.minimum_reports)
            estimate = current.estimate()
            row["answers"] = tables(_ask(question, current.survey, estimate, parameters))
            row["unit"] = _unit(question.text, estimate, parameters)
        except QueryError as refusal:
            if current.sum.reports >= max(registered.survey.minimum_reports, 1):
                raise  # the question itself is refused, in every window alike
            row["error"] = str(refusal)
        return row


def _ask(
    question: Question, survey: Survey, estimate: Estimate, parameters: Mapping[str, str], other: Live | None = None
) -> list[Answer]:
    if other is not None:
        refuse_options(_flag(parameters, "count"), parameters.get("postprocess"), _flag(parameters, "simultaneous"))
        check_reports(other.reports, other.survey.minimum_reports)
        return change(question, estimate, other.estimate(), ANSWERS_LIMIT)
    return answer(
        question,
        estimate,
        count=_flag(parameters, "count"),
        limit=ANSWERS_LIMIT,
        postprocess=parameters.get("postprocess"),
        default=survey.postprocess,
        simultaneous=_flag(parameters, "simultaneous"),
    )


def _unit(text: str, estimate: Estimate, parameters: Mapping[str, str]) -> str:
    return "reports" if _flag(parameters, "count") else unit_of(text, estimate)


def _checked(request: Request, allowed: Sequence[str]) -> Mapping[str, str]:
    parameters = request.query_params
    for name in parameters:
        if name not in allowed:
            raise QueryError(what="parameter", expected=f"one of {', '.join(allowed)}", got=repr(name))
    if parameters.get("format", "json") not in FORMATS:
        raise QueryError(what="format", expected=f"one of {', '.join(FORMATS)}", got=repr(parameters["format"]))
    return parameters


def _flag(parameters: Mapping[str, str], name: str) -> bool:
    text = parameters.get(name, "0")
    if text not in ("0", "1", "false", "true"):
        raise QueryError(what=name, expected="0 or 1", got=repr(text))
    return text in ("1", "true")


def _number(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(WINDOWS_LIMIT)) else 0
    if not 1 <= number <= WINDOWS_LIMIT:
        raise QueryError(what="windows", expected=f"a whole number in 1..{WINDOWS_LIMIT}", got=repr(text))
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


def _respond(request: Request, registered: Registered, body: Body) -> Response:
    """A body that is tagged by what it says."""
    tag = _tag(registered, request.url.query, hashlib.sha256(body.plain).hexdigest())
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers={"ETag": tag})
    return body.respond(request, tag)


def _body(document: Any, tables: Sequence[Mapping[str, Any]], parameters: Mapping[str, str]) -> Body:
    if parameters.get("format") == "csv":
        return Body(as_csv(tables).encode(), "text/csv; charset=utf-8")
    return Body(
        json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(), "application/json"
    )


def as_csv(tables: Sequence[Mapping[str, Any]]) -> str:
    """Answers as a table with the columns of `Answers.to_pandas`."""
    rows = [flat(table) for table in tables]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _moment(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return datetime.fromtimestamp(milliseconds / 1_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
