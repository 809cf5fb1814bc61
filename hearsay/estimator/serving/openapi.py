"""The estimator's interface as an OpenAPI 3.1 document, written from one table of addresses."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from hearsay.estimator.serving.answers import FORMATS, WINDOWS_LIMIT

JSON, EVENTS, TEXT = "application/json", "text/event-stream", "text/plain"
NAME = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}, "description": "The survey."}
WINDOW = {**NAME, "name": "window", "description": "A window's name."}


def _parameter(name: str, description: str, schema: dict[str, Any], required: bool = False) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": required, "description": description, "schema": schema}


_FLAG = {"type": "string", "enum": ["0", "1", "false", "true"]}
ASKED = (
    _parameter("q", "A query of docs/reference/queries.md, in one line.", {"type": "string"}, required=True),
    _parameter("count", "Numbers of reports instead of shares.", _FLAG),
    _parameter("postprocess", "A post-processing method; processed values are biased.", {"type": "string"}),
    _parameter("simultaneous", "Intervals that hold for all answers together.", _FLAG),
    _parameter("format", "JSON, or a table as CSV.", {"type": "string", "enum": list(FORMATS)}),
)
ONE_WINDOW = _parameter("window", "A window's name, `all` or `last:N`.", {"type": "string", "default": "all"})
AGAINST = _parameter("against", "Differences to these windows, or to `NAME:WINDOW`.", {"type": "string"})
WINDOWS = _parameter(
    "windows",
    "How many windows, counted from the newest.",
    {"type": "integer", "minimum": 1, "maximum": WINDOWS_LIMIT, "default": 20},
)


@dataclass(frozen=True)
class Address:
    """One address: what it answers, in which form, what it takes, and which refusals it knows."""

    path: str
    summary: str
    form: str = JSON
    parameters: tuple[dict[str, Any], ...] = ()
    refusals: tuple[int, ...] = ()

    def table(self) -> dict[str, Any]:
        known = (*self.refusals, 421, 503)
        return {
            "get": {
                "operationId": self.path.strip("/").replace("/", "-").replace("{", "").replace("}", "") or "root",
                "summary": self.summary,
                "parameters": list(self.parameters),
                "responses": {
                    "200": {"description": self.summary, "content": {self.form: {}}},
                    **{str(status): _PROBLEM for status in known},
                },
            }
        }


_PROBLEM = {
    "description": "A problem document (RFC 9457) with a stable `code` and `error` in one line.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
_SURVEY = "/api/surveys/{name}"
ADDRESSES = (
    Address("/metrics", "Metrics of the whole pipeline for Prometheus.", TEXT),
    Address("/healthz", "Whether the process is alive; if not, restart it."),
    Address("/readyz", "Whether answers are up to date; if not, why."),
    Address("/api/overview", "All surveys at a glance, the processes, and what keeps reports from being counted."),
    Address("/api/events", "Server-sent events: `overview`, and `survey` for each new snapshot.", EVENTS),
    Address(
        "/api/plan",
        "Which mechanism, epsilon or number of users a question needs; the parameters are those of `hearsay plan`.",
        refusals=(400,),
    ),
    Address("/api/openapi.json", "This document."),
    Address("/api/surveys", "Every survey in short."),
    Address(_SURVEY, "One survey: definition, promise, charts, queries, status.", parameters=(NAME,), refusals=(404,)),
    Address(f"{_SURVEY}/round", "The open round as one device gets it.", parameters=(NAME,), refusals=(404, 409)),
    Address(f"{_SURVEY}/windows", "Every window with its snapshot in short.", parameters=(NAME,), refusals=(404,)),
    Address(f"{_SURVEY}/snapshots/{{window}}", "A snapshot.", parameters=(NAME, WINDOW), refusals=(404,)),
    Address(
        f"{_SURVEY}/query",
        "Answers to a question, each with its standard error and 95% confidence interval.",
        parameters=(NAME, *ASKED, ONE_WINDOW, AGAINST),
        refusals=(400, 404),
    ),
    Address(
        f"{_SURVEY}/series",
        "The same question to each of the last windows; withheld windows have no answers and say why.",
        parameters=(NAME, *ASKED, WINDOWS),
        refusals=(400, 404),
    ),
)


@cache
def document(version: str) -> dict[str, Any]:
    """The whole document."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "hearsay estimator", "version": version, "license": {"name": "Apache-2.0"}},
        "paths": {address.path: address.table() for address in ADDRESSES},
        "components": {
            "schemas": {
                "Problem": {
                    "type": "object",
                    "required": ["type", "title", "status", "detail", "code", "error"],
                    "properties": {
                        "status": {"type": "integer"},
                        **{name: {"type": "string"} for name in ("type", "title", "detail", "code", "error")},
                    },
                }
            }
        },
    }
