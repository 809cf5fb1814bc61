"""docs/reference/http.md: every address of estimator and gateway, from the documents that they hand out themselves."""

from collections.abc import Iterator
from typing import Any

from hearsay.collector.gateway import openapi as gateway
from hearsay.collector.gateway.refusals import AGAIN, STATUS
from hearsay.collector.http import problems
from hearsay.errors import HearsayError
from hearsay.estimator.serving import openapi as estimator
from hearsay.ops.pages.reference import table
from hearsay.release import release

INTRODUCTION = """# HTTP

Written by `make docs` from the OpenAPI documents of the services, `/api/openapi.json` and `/v1/openapi.json`.

The **estimator** (port 8787) answers questions and has the page and the metrics. The **gateway** (port 8788) takes
reports. Both listen on 127.0.0.1 unless told otherwise ([configuration](configuration.md)). With `HEARSAY_API_TOKEN`
the estimator asks for `Authorization: Bearer TOKEN`; gateways ask for keys
([gateway](../how-to/gateway.md#keys-rates-origins-tls)). Requests to the estimator that name a host which is neither an
address, nor this machine, nor in `HEARSAY_PUBLIC_HOST` are refused (421).

Answers are of this moment. A request with `Cache-Control: max-age=N` takes what the estimator's last pass saw, if that
is at most N seconds old, and costs the data server nothing. An answer's `ETag` names its version: sent back as
`If-None-Match` it is answered with 304 while nothing changed.

```sh
curl -s http://127.0.0.1:8787/api/surveys
curl -s 'http://127.0.0.1:8787/api/surveys/session-minutes/query?q=range+300+500'
```
"""
REFUSALS = """## Errors

A refusal is a problem document (RFC 9457, `application/problem+json`) with `type`, `title`, `status` and `detail`, and:

| field | what it is |
|---|---|
| `code` | a stable word, for programs |
| `error` | one line that says what to do, as the command line shows it |
"""
# What the estimator refuses beside questions; a test compares with the code.
ESTIMATOR = {
    "no-round": (409, "No round of the survey is open."),
    "no-snapshot": (404, "The survey has no snapshot of this window."),
    "busy": (503, "Too many viewers, or another question is being planned."),
    "too-long": (503, "Planning took over 20 s of processor time, or 60 s by the clock."),
    "host": (421, "The request names another host than this machine."),
    "token": (401, "`Authorization` does not have the token."),
}


def http_page() -> str:
    """The whole page."""
    sections = [
        INTRODUCTION,
        f"## The estimator\n\n{_addresses(estimator.document(release()))}\n",
        "Beside them `/` is the live page and `/plan` the planner, for browsers.\n",
        _parameters(estimator.document(release())),
        f"## The gateway\n\n{_addresses(gateway.document())}\n",
        "Beside them `/v1/device.js` is a device for browsers, `/v1/` these rules for people; `/healthz` and `/readyz`",
        "are for a supervisor: `/readyz` says whether reports can be taken.\n",
        REFUSALS,
        f"{_codes()}\n",
    ]
    return "\n".join(sections)


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method in ("get", "post"):
            if method in item:
                yield method.upper(), path, item[method]


def _addresses(document: dict[str, Any]) -> str:
    rows = []
    for method, path, operation in _operations(document):
        answers = operation["responses"]
        good = next(status for status in answers if status.startswith("2"))
        form = ", ".join(f"`{kind}`" for kind in answers[good]["content"])
        names = [_resolved(document, each)["name"] for each in operation.get("parameters", [])]
        taken = ", ".join(f"`{name}`" for name in names if name not in ("name", "window") or f"{{{name}}}" not in path)
        others = ", ".join(status for status in answers if status != good)
        rows.append((f"`{method} {path}`", operation["summary"], taken, f"{good} {form}", others))
    return table(("address", "what it answers", "takes", "answer", "refusals"), rows)


def _parameters(document: dict[str, Any]) -> str:
    known: dict[str, dict[str, Any]] = {}
    for _, _, operation in _operations(document):
        for each in operation["parameters"]:
            if each["in"] == "query":
                known[each["name"]] = each
    rows = [
        (f"`{name}`", "yes" if each["required"] else "", _allowed(each["schema"]), each["description"])
        for name, each in known.items()
    ]
    return f"{table(('parameter', 'required', 'allowed', 'what it is'), rows)}\n"


def _allowed(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    bounds = f" {schema['minimum']}..{schema['maximum']}" if "minimum" in schema else ""
    default = f", default `{schema['default']}`" if "default" in schema else ""
    return f"{schema['type']}{bounds}{default}"


def _resolved(document: dict[str, Any], parameter: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in parameter:
        return dict(document["components"]["parameters"][parameter["$ref"].rpartition("/")[2]])
    return parameter


def _codes() -> str:
    """Codes of the gateway, of the estimator, and of errors that any service may answer with."""
    rows = [
        (str(STATUS[code]), f"`{code}`", meaning, "yes" if code in AGAIN else "")
        for code, meaning in gateway.MEANING.items()
    ]
    for kind, status in problems.STATUS.items():
        if kind.CODE not in gateway.MEANING and kind is not HearsayError:
            rows.append((str(int(status)), f"`{kind.CODE}`", _first_line(kind), ""))
    rows += [
        (str(status), f"`{code}`", text, "yes" if status == 503 else "") for code, (status, text) in ESTIMATOR.items()
    ]
    for status, code in problems.HTTP_CODES.items():
        if code not in gateway.MEANING:
            rows.append((str(int(status)), f"`{code}`", f"{status.phrase}.", ""))
    rows.append(("500", f"`{problems.BUG}`", "A defect; the log has it.", ""))
    return table(("status", "code", "meaning", "send again"), sorted(rows))


def _first_line(kind: type) -> str:
    return (kind.__doc__ or "").strip().partition("\n")[0]
