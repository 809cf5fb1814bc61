"""Beyond this machine the estimator answers nobody without the token."""

from collections.abc import Iterator

import httpx
import pytest

from hearsay.collector.health.loop import Health
from hearsay.collector.http.server import HttpServer
from hearsay.collector.store.registry import Registry
from hearsay.estimator.serving.api import create_app
from hearsay.estimator.serving.token import is_open
from hearsay.ops import cli
from tests.estimator.surveys import colours

TOKEN = "a-token-of-the-test"


@pytest.fixture
def http(registry: Registry) -> Iterator[httpx.Client]:
    registry.add(colours())
    app = create_app(registry, Health(), {}, token=TOKEN)
    with HttpServer(app, "127.0.0.1", 0) as server, httpx.Client(base_url=server.url) as client:
        yield client


def test_every_address_that_knows_something_asks_for_the_token(http: httpx.Client) -> None:
    app = create_app(None, Health(), {}, overview=object(), feed=_Feed())  # type: ignore[arg-type] # only its routes
    paths = [route.path.replace("{name}", "colours").replace("{window}", "all") for route in app.routes]  # type: ignore[attr-defined]
    closed = [path for path in paths if not is_open(path)]
    assert {*paths} - {*closed} == {"/", "/plan", "/healthz", "/surveys/colours", "/assets/{path:path}"}
    for path in [*closed, "/api/none", "//api/surveys", "/assets/../api/surveys"]:
        refused = http.get(path)
        assert refused.status_code in (401, 404), path
        assert path not in closed or refused.json()["code"] == "token"
    assert http.get("/api/surveys").headers["www-authenticate"] == "Bearer"


class _Feed:
    respond = None


@pytest.mark.parametrize("header", ["", "Bearer", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}"])
def test_another_token_is_none(http: httpx.Client, header: str) -> None:
    assert http.get("/metrics", headers={"Authorization": header}).status_code == 401


def test_with_the_token_all_is_answered_and_health_and_the_page_need_none(http: httpx.Client) -> None:
    for path in ("/metrics", "/api/surveys", "/api/overview", "/api/surveys/colours"):
        assert http.get(path, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200, path
    for path in ("/healthz", "/", "/plan", "/surveys/colours", "/assets/page.js"):
        assert http.get(path).status_code == 200, path
        assert "epsilon" not in http.get("/surveys/colours").text


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_beyond_this_machine_it_does_not_start_without_a_token(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["estimate", "--host", host]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"host {host} can be reached from other machines: set HEARSAY_API_TOKEN" in line
