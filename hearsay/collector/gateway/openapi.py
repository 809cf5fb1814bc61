"""The gateway's rules as an OpenAPI 3.1 document, written from the table of refusals."""

from functools import cache
from typing import Any

from hearsay.collector.gateway import bodies
from hearsay.collector.gateway.refusals import AGAIN, STATUS
from hearsay.collector.gateway.simulated import SIMULATED_HEADER, SIMULATED_MODES
from hearsay.collector.survey.participation import REPEATS
from hearsay.release import release

CONTENT_TYPE = "application/vnd.hearsay.v1+msgpack"
ABOUT = """Devices send private reports here. The gateway stores each request once, shuffles its reports with others
and publishes them; it answers after they are stored.

A request that got no answer, or an answer with `Retry-After`, is sent again with the same body and the same
`Idempotency-Key`: it is stored once, and the answer is the one that the first had. An answer without `Retry-After` is
final."""
MEANING = {
    "malformed": "The body or the address cannot be read.",
    "bad-id": "`Idempotency-Key` is missing or no UUIDv7.",
    "too-early": "`Idempotency-Key` is over an hour ahead of the gateway's clock.",
    "key": "`Authorization` has no key that is known.",
    "not-for-key": "The key is for another survey.",
    "unknown-survey": "No survey of this name is registered.",
    "id-reused": "The same `Idempotency-Key` came with another body.",
    "real-reports": "Simulated reports, for a survey that has others.",
    "too-late": "`Idempotency-Key` is over a day behind the gateway's clock.",
    "expired": "`Idempotency-Key` is of an hour whose ids the server has deleted.",
    "closed": "The survey takes no more reports.",
    "round-over": "The round takes no more reports.",
    "too-large": "More than 1,000 reports, or more than 1 MiB.",
    "content-type": f"`Content-Type` is not `{CONTENT_TYPE}`.",
    "rate": "Too many requests of this key or address.",
    "pressure": "The collector has to catch up.",
    "server": "The Redis server does not answer.",
}


@cache
def document() -> dict[str, Any]:
    """The whole document."""
    name = {"$ref": "#/components/parameters/name"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "hearsay gateway", "version": release(), "description": ABOUT, "license": _LICENSE},
        "paths": {
            "/v1/surveys/{name}": {
                "parameters": [name],
                "get": {
                    "operationId": "getSurvey",
                    "summary": "What a survey asks, and what it promises to whoever takes part.",
                    "responses": {"200": _json("The survey.", "Survey"), **_refusals("unknown-survey", *_ALWAYS)},
                },
            },
            "/v1/surveys/{name}/round": {
                "parameters": [name],
                "get": {
                    "operationId": "getRound",
                    "summary": "The open round, as one device gets it.",
                    "description": "A survey without rounds has one, number 1.",
                    "responses": {
                        "200": _json("The round.", "Round"),
                        "409": _problem("`no-round`: no round is open."),
                        **_refusals("unknown-survey", *_ALWAYS),
                    },
                },
            },
            "/v1/surveys/{name}/reports": {"parameters": [name], "post": _reports()},
        },
        "components": {"parameters": _PARAMETERS, "schemas": _SCHEMAS, "securitySchemes": _SECURITY},
    }


_LICENSE = {"name": "Apache-2.0", "identifier": "Apache-2.0"}
_ALWAYS = ("rate", "server")
_SECURITY = {"key": {"type": "http", "scheme": "bearer", "description": "Where the gateway asks for keys."}}
_PARAMETERS = {
    "name": {
        "name": "name",
        "in": "path",
        "required": True,
        "description": "The survey's name.",
        "schema": {"type": "string", "pattern": "^[a-z0-9-]+$", "minLength": 1, "maxLength": 64},
    },
    "round": {
        "name": "round",
        "in": "query",
        "required": False,
        "description": "The round that the reports answer; needed where the survey has rounds, else left out or 1.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 999_999_999},
    },
    "simulated": {
        "name": SIMULATED_HEADER,
        "in": "header",
        "required": False,
        "description": "Of simulated devices, whose reports are counted apart. `alone`: refused where the survey has "
        "other reports; `mixed`: taken all the same.",
        "schema": {"enum": list(SIMULATED_MODES)},
    },
    "id": {
        "name": "Idempotency-Key",
        "in": "header",
        "required": True,
        "description": "A UUIDv7, made when the request is first sent and kept for every repeat.",
        "schema": {
            "type": "string",
            "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
        },
    },
}
_SCHEMAS: dict[str, Any] = {
    "Survey": {
        "type": "object",
        "required": ["definition", "tag", "guarantee", "participation", "open", "device", "device_reason"],
        "properties": {
            "definition": {"type": "object", "description": "The survey with every default written out."},
            "tag": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "birth": {
                "type": ["string", "null"],
                "description": "Tells this survey from a deleted one of the same definition.",
            },
            "guarantee": {"type": "object", "required": ["words"], "properties": {"words": {"type": "string"}}},
            "participation": {
                "type": "object",
                "required": ["repeat", "loss", "words"],
                "properties": {
                    "repeat": {"enum": list(REPEATS)},
                    "loss": {
                        "type": "object",
                        "description": "Epsilon per report, per day and over a life; null: without bound.",
                    },
                    "words": {"type": "string"},
                    "warning": {"type": "string"},
                },
            },
            "open": {"type": "boolean", "description": "Whether it takes reports."},
            "device": {"type": ["object", "null"], "description": "The form of reports as data, where there is one."},
            "device_reason": {"type": ["string", "null"], "description": "Why there is no form."},
        },
    },
    "Round": {
        "type": "object",
        "required": ["tag", "round", "parameters"],
        "additionalProperties": False,
        "properties": {
            "tag": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "round": {"type": "integer", "minimum": 1},
            "parameters": {"type": "object"},
        },
    },
    "Taken": {
        "type": "object",
        "required": ["accepted", "rejected"],
        "additionalProperties": False,
        "properties": {
            "accepted": {"type": "integer", "minimum": 0, "maximum": bodies.MOST_REPORTS},
            "rejected": {
                "type": "integer",
                "minimum": 0,
                "maximum": bodies.MOST_REPORTS,
                "description": "Reports that no device of this survey makes; they count nowhere.",
            },
        },
    },
    "Problem": {
        "type": "object",
        "required": ["type", "title", "status", "detail", "code", "error"],
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "code": {"type": "string", "description": "Stable; what programs should look at."},
            "error": {"type": "string", "description": "One line for people."},
        },
    },
}


def _reports() -> dict[str, Any]:
    return {
        "operationId": "postReports",
        "summary": "Send 1 to 1,000 reports of one survey and round.",
        "description": "The body is a msgpack array of bins, each one report as `Device.report` gives it.",
        "security": [{}, {"key": []}],
        "parameters": [{"$ref": f"#/components/parameters/{each}"} for each in ("id", "round", "simulated")],
        "requestBody": {
            "required": True,
            "content": {CONTENT_TYPE: {"schema": {"type": "string", "contentMediaType": CONTENT_TYPE}}},
        },
        "responses": {"202": _json("The reports are stored.", "Taken"), **_refusals(*STATUS)},
    }


def _refusals(*codes: str) -> dict[str, Any]:
    """One answer for each status, with all its codes."""
    answers: dict[str, Any] = {}
    for status in sorted({STATUS[code] for code in codes}):
        mine = [code for code in codes if STATUS[code] == status]
        answers[str(status)] = _problem(" ".join(f"`{code}`: {MEANING[code]}" for code in mine))
        if any(code in AGAIN for code in mine):
            wait = {"description": "Seconds to wait.", "required": True, "schema": {"type": "integer", "minimum": 1}}
            answers[str(status)]["headers"] = {"Retry-After": wait}
    return answers


def _problem(description: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": description, "content": {"application/problem+json": {"schema": schema}}}


def _json(description: str, schema: str) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {"description": description, "content": content}
