"""The gateway hands out what a device in another language needs."""

import redis

from hearsay.collector.gateway.pages import DEVICE_JS
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.producer.portable.form import Form
from tests.collector.gateway.running import gateway

LARGEST = 13 * 1024
MINUTES = {"name": "minutes", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 60}}


def test_the_module_for_browsers(client: redis.Redis, prefix: str) -> None:
    with gateway(client, prefix, origins=("https://good.example",)) as sender:
        answer = sender.get("/v1/device.js", headers={"Origin": "https://good.example"})
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["access-control-allow-origin"] == "https://good.example"
    assert answer.content == DEVICE_JS.read_bytes()
    assert len(answer.content) <= LARGEST


def test_reports_by_the_form_are_accepted(client: redis.Redis, prefix: str) -> None:
    registry = Registry(client, prefix)
    registry.add(parse({**MINUTES, "mechanism": "haar"}))
    with gateway(client, prefix) as sender:
        described = sender.get("/v1/surveys/minutes")
        answer = described.json()
        form = Form.of(answer["device"])
        sent = sender.send_reports([form.report(value) for value in range(10)], "minutes")
        registry.close("minutes")
        assert sender.get("/v1/surveys/minutes").json()["open"] is False  # at once; caches follow a second later
    assert described.headers["Cache-Control"] == "public, max-age=1"
    assert (answer["open"], answer["birth"]) == (True, registry.get("minutes").look().birth)
    assert answer["device_reason"] is None
    assert sent.json() == {"accepted": 10, "rejected": 0}
