"""A device with a ledger and a real gateway: sent once, kept while it is away, and what it refuses."""

import logging
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import redis

from hearsay import BudgetSpent, Device, SurveyClosed
from hearsay.collector.store import api_keys
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.producer.budget.link import Answer, Link
from hearsay.producer.budget.outbox import Outbox
from hearsay.producer.errors import GatewayError
from tests.collector.gateway.running import gateway

LIKES = {"name": "likes", "mechanism": "hrr", "epsilon": 0.5, "domain": {"kind": "categorical", "size": 9}}
STARS = {
    "name": "stars",
    "mechanism": "privkvm",
    "epsilon": 2.0,
    "domain": {"kind": "key-value", "keys": ["psycho", "sunrise"], "low": 1, "high": 5},
    "options": {"rounds": 2},
}


def test_a_report_is_sent_once_and_kept_while_the_gateway_is_away(
    client: redis.Redis, prefix: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    registered, ledger = Registry(client, prefix).add(parse(LIKES)), tmp_path / "ledger"
    hourly = Registry(client, prefix).add(parse({**LIKES, "name": "hourly", "window": {"every": "7d"}}))
    with gateway(client, prefix) as sender:
        port = sender.base_url.port
        device = Device(f"{sender.base_url}/v1/surveys/likes", ledger=ledger, tag=registered.survey.tag)
        assert device.submit(3) == "sent"
        assert client.xlen(registered.shards[0].keys.stream) == 1
        with pytest.raises(BudgetSpent):
            device.submit(4)
        with pytest.raises(GatewayError, match="has no survey of the name 'nobody'"):
            Device(f"{sender.base_url}/v1/surveys/nobody", ledger=ledger)
        url = f"{sender.base_url}/v1/surveys/hourly"
        Device(url, ledger=ledger)
    away = Device(url, ledger=ledger)  # known from the ledger
    assert away.submit(5) == "kept"
    assert away.flush() == 1
    why = "the gateway does not answer (ConnectionRefusedError)"
    said = [record.getMessage() for record in caplog.records if record.name == "hearsay.device"]
    assert said == [f"the survey is taken from the ledger: {why}", f"reports of survey hourly wait, {why}"]
    assert away.spent() == 0.5
    with pytest.raises(BudgetSpent):  # the pause is not over: nothing is tried
        away.submit(5)
    with gateway(client, prefix, port):
        again = Device(url, ledger=ledger)
        assert again.flush() == 0
        assert again.flush() == 0
    assert client.xlen(hourly.shards[0].keys.stream) == 1
    assert "1 stored" in again.statement()


def test_a_second_submit_of_a_device_that_answers_once_sends_what_waits(
    client: redis.Redis, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered = Registry(client, prefix).add(parse(LIKES))
    with gateway(client, prefix) as sender:
        port, url = sender.base_url.port, f"{sender.base_url}/v1/surveys/likes"
        Device(url.replace("/v1/", "//v1/"), ledger=tmp_path / "ledger")  # the gateway's address ended with a slash
    assert Device(url, ledger=tmp_path / "ledger").submit(3) == "kept"
    monkeypatch.setattr(Outbox, "is_due", lambda outbox: True)
    with gateway(client, prefix, port):
        again = Device(url, ledger=tmp_path / "ledger")
        for _ in range(2):
            with pytest.raises(BudgetSpent):
                again.submit(4)
    assert client.xlen(registered.shards[0].keys.stream) == 1
    assert "1 stored" in again.statement()


def test_a_gateway_that_answers_without_a_survey_is_quoted(tmp_path: Path) -> None:
    class Away(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(503)
            self.send_header("Retry-After", "2")
            self.end_headers()
            self.wfile.write(b'{"code": "server", "error": "the server is away"}')

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Away) as site:
        Thread(target=site.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{site.server_port}/v1/surveys/likes"
        with pytest.raises(GatewayError, match=r"the gateway cannot answer now \(the server is away\), and the survey"):
            Device(url, ledger=tmp_path / "ledger")
        site.shutdown()


def test_a_device_learns_that_no_round_is_open_yet_or_ever_again(
    client: redis.Redis, prefix: str, tmp_path: Path
) -> None:
    registry = Registry(client, prefix)
    registered = registry.add(parse(STARS))
    with gateway(client, prefix) as sender:
        url = f"{sender.base_url}/v1/surveys/stars"
        device = Device(url, ledger=tmp_path / "ledger")
        assert device.submit({"psycho": 3}) == "sent"
        registered.shards[0].close_round(1)
        with pytest.raises(GatewayError, match=r"no round of survey stars is open: the last one is being counted"):
            device.submit({"psycho": 3})
        registry.close("stars")
        for closed in (device, Device(url, ledger=tmp_path / "ledger")):
            with pytest.raises(SurveyClosed, match="survey stars is closed and takes no more reports"):
                closed.submit({"psycho": 3})
        assert device.answered == 1


def test_a_report_without_a_key_is_kept_and_the_reason_is_said_once(
    client: redis.Redis, prefix: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    registry = Registry(client, prefix)
    registered = registry.add(parse(LIKES))
    _, key = api_keys.add(registry, "phones")
    with gateway(client, prefix, keys=True) as sender:
        url = f"{sender.base_url}/v1/surveys/likes"
        device = Device(url, ledger=tmp_path / "ledger")
        assert device.submit(3) == "kept"
        assert device.flush() == device.flush() == 1
        (said,) = [record.getMessage() for record in caplog.records if record.name == "hearsay.device"]
        assert said.startswith(
            "reports of survey likes wait, the gateway refuses them: the key is missing or not known"
        )
        with pytest.raises(GatewayError, match="the key must be one word") as refused:
            Device(url, ledger=tmp_path / "ledger", key=f"{key}\nmore")
        assert key not in str(refused.value)
        assert Device(url, ledger=tmp_path / "ledger", key=f"{key}\n").flush() == 0  # as read from a file
        with pytest.raises(GatewayError, match=r"likes/no does not describe a survey \(not-found\)"):
            Device(f"{sender.base_url}/v1/surveys/likes/no", ledger=tmp_path / "other")
    assert client.xlen(registered.shards[0].keys.stream) == 1


def test_a_device_that_starts_behind_a_portal_takes_the_survey_from_its_ledger(
    client: redis.Redis, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Registry(client, prefix).add(parse(LIKES))
    with gateway(client, prefix) as sender:
        url = f"{sender.base_url}/v1/surveys/likes"
        Device(url, ledger=tmp_path / "ledger")
        for status in (200, 302, 403, 404):
            page = Answer(status, {})
            monkeypatch.setattr(Link, "survey", lambda self, page=page: page)
            monkeypatch.setattr(Link, "post", lambda self, entry, page=page: page)
            device = Device(url, ledger=tmp_path / "ledger")
            assert device.submit(3) == "kept" if status == 200 else device.flush() == 1
            with pytest.raises(
                GatewayError, match=rf"{status} from something else; is this a gateway's address\?\), and"
            ):
                Device(url, ledger=tmp_path / "other")
        monkeypatch.undo()
        assert Device(url, ledger=tmp_path / "ledger").flush() == 0


def test_a_survey_that_is_deleted_keeps_the_report_until_it_is_back(
    client: redis.Redis, prefix: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    registry = Registry(client, prefix)
    registry.add(parse(LIKES))
    with gateway(client, prefix) as sender:
        device = Device(f"{sender.base_url}/v1/surveys/likes", ledger=tmp_path / "ledger")
        registry.delete("likes")
        assert device.submit(3) == "kept"
        assert device.flush() == 1
        assert caplog.text.count("reports of survey likes wait, the gateway has no survey of the name 'likes'") == 1
        registry.add(parse(LIKES))
        assert device.flush() == 0
    assert "1 stored" in device.statement()


def test_a_gateway_with_another_survey_of_that_name_gets_nothing(
    client: redis.Redis, prefix: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    registry = Registry(client, prefix)
    registry.add(parse(LIKES))
    with gateway(client, prefix) as sender:
        port, url = sender.base_url.port, f"{sender.base_url}/v1/surveys/likes"
        Device(url, ledger=tmp_path / "ledger")
    device = Device(url, ledger=tmp_path / "ledger")
    assert device.submit(1) == "kept"
    registry.delete("likes")
    other = registry.add(parse({**LIKES, "epsilon": 2.0}))
    with gateway(client, prefix, port):
        assert device.flush() == 1
        assert f"the gateway's survey has tag {other.survey.tag8}, and they were made for" in caplog.text
        anew = Device(url, ledger=tmp_path / "ledger")
        caplog.clear()
        assert (anew.flush(), anew.flush()) == (1, 1)
        assert caplog.text.count("they were made for another definition") == 1
        assert anew.submit(2) == "sent"
        assert client.xlen(other.shards[0].keys.stream) == 1, "only what was made for it"


def test_a_closed_survey_is_an_error_and_costs_nothing_where_that_is_known(
    client: redis.Redis, prefix: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    registry = Registry(client, prefix)
    registry.add(parse({**LIKES, "participation": {"repeat": "every-window"}, "window": {"every": "7d"}}))
    with gateway(client, prefix) as sender:
        url = f"{sender.base_url}/v1/surveys/likes"
        before = Device(url, ledger=tmp_path / "before")
        registry.close("likes")
        with pytest.raises(SurveyClosed, match="this one is spent"):
            before.submit(3)
        assert "1 refused" in before.statement()
        assert "a report of survey likes was refused: the survey takes no more reports" in caplog.messages
        after = Device(url, ledger=tmp_path / "after")
        with pytest.raises(SurveyClosed, match="survey likes is closed and takes no more reports"):
            after.submit(3)
        assert after.spent() == 0.0
