"""The OpenAPI document is true: whatever a program makes of it is answered as it says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import jsonschema
import msgpack
import pytest
import redis

from hearsay.collector.gateway.openapi import document
from hearsay.collector.gateway.refusals import STATUS
from tests.collector.gateway.running import gateway, identity, reports_of
from tests.pipeline import buckets

REPORTS = "/v1/surveys/{name}/reports"


def documented(path: str, response: httpx.Response) -> None:
    """The answer is one of those that the document has for the address, in status, type and content."""
    described = document()
    (operation,) = (each for name, each in described["paths"][path].items() if name != "parameters")
    answer = operation["responses"][str(response.status_code)]
    (kind,) = answer["content"]
    assert response.headers["content-type"] == kind
    schema = {**answer["content"][kind]["schema"], "components": described["components"]}
    jsonschema.Draft202012Validator(schema).validate(response.json())
    for name in answer.get("headers", ()):
        assert name in response.headers


def test_answers_are_those_of_the_document(client: redis.Redis, prefix: str) -> None:
    asked = buckets(client, prefix, 10)
    good = reports_of(asked.survey, [1])
    with gateway(client, prefix, keys=False) as sender:
        documented("/v1/surveys/{name}", sender.get("/v1/surveys/buckets"))
        documented("/v1/surveys/{name}", sender.get("/v1/surveys/nobody"))
        documented("/v1/surveys/{name}/round", sender.get("/v1/surveys/buckets/round"))
        for answer in (
            sender.send_reports(good),
            sender.send_reports(b""),
            sender.send_reports(good, id="x"),
            sender.send_reports(good, "nobody"),
            sender.send_reports([b"x"] * 1_001),
            sender.send_reports(good, content_type="text/plain"),
        ):
            documented(REPORTS, answer)
        asked.shards[0].set_pressure("memory")
        documented(REPORTS, sender.send_reports(good))
        asked.shards[0].close()
        documented(REPORTS, sender.send_reports(good))
        documented("/v1/surveys/{name}/round", sender.get("/v1/surveys/buckets/round"))
    with gateway(client, prefix, keys=True) as sender:
        documented(REPORTS, sender.send_reports(good))


def test_every_status_of_a_refusal_is_documented() -> None:
    answers = document()["paths"][REPORTS]["post"]["responses"]
    assert {int(status) for status in answers} == {202, *STATUS.values()}
    for code, status in STATUS.items():
        assert f"`{code}`" in answers[str(status)]["description"]


HOOKS = f"""
import schemathesis
from hypothesis import strategies as st
import sys

sys.path.insert(0, {str(Path(__file__).parents[3])!r})
import msgpack
from tests.collector.gateway.running import identity

CONTENT_TYPE = "application/vnd.hearsay.v1+msgpack"
bodies = st.lists(st.one_of(st.binary(max_size=9), st.integers(0, 20).map(msgpack.packb)), min_size=1, max_size=20)
schemathesis.openapi.media_type(CONTENT_TYPE, bodies.map(msgpack.packb))


@schemathesis.hook
def map_path_parameters(context, parameters):
    if parameters and context.operation.method and len(parameters.get("name", "")) % 2:
        parameters["name"] = "buckets"
    return parameters


@schemathesis.hook
def map_query(context, query):
    return {{"round": 1}} if query and query.get("round") else query  # no document can say which rounds there are


@schemathesis.hook
def map_headers(context, headers):
    if headers and len(headers.get("Idempotency-Key", "")) == 36:
        headers["Idempotency-Key"] = identity()
    return headers
"""


@pytest.mark.slow
def test_schemathesis_finds_nothing(client: redis.Redis, prefix: str, tmp_path: Path) -> None:
    """Thousands of requests made from the document, good and bad."""
    buckets(client, prefix, 10)
    (tmp_path / "hooks.py").write_text(HOOKS)
    with gateway(client, prefix) as sender:
        (tmp_path / "openapi.json").write_text(json.dumps(sender.get("/v1/openapi.json").json()))
        url = str(sender.base_url)
        line = [sys.executable, "-m", "schemathesis.cli", "run", str(tmp_path / "openapi.json"), "--url", url]
        line += ["--checks", "all", "--max-examples", "300", "--seed", "1", "--no-color"]
        done = subprocess.run(
            line,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": ".", "SCHEMATHESIS_HOOKS": "hooks"},
        )
        print(done.stdout[-6_000:], done.stderr[-2_000:])
        assert done.returncode == 0, done.stdout[-3_000:]
        assert sender.send_reports(msgpack.packb([msgpack.packb(1)]), id=identity()).status_code == 202
