"""A gateway that can take no report is not ready, and says why: at /readyz, in its log, and to who sends."""

import logging
import threading

import numpy as np
import pytest

from hearsay.collector.store.connect import connect
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.commands.produce import refusals
from hearsay.ops.server.embedded import EmbeddedServer
from hearsay.producer.values import Rows
from hearsay.producer.via.fleet import GatewayFleet
from tests.collector.gateway.running import gateway, reports_of
from tests.estimator.running import wait_until
from tests.pipeline import buckets

NO_REPLICA = "durable = replica is promised, and the server has no replica"


def test_a_replica_that_is_promised_and_missing(own_server: EmbeddedServer, caplog: pytest.LogCaptureFixture) -> None:
    with connect(own_server.url) as client, caplog.at_level(logging.WARNING, "hearsay.gateway"):
        survey = buckets(client, "ready", 4).survey
        with gateway(client, "ready", durable="replica") as sender:
            wait_until(lambda: "no reports can be taken" in sender.get("/readyz").text)
            ready = sender.get("/readyz")
            assert (ready.status_code, ready.json()["error"]) == (503, f"no reports can be taken: {NO_REPLICA}")
            assert sender.get("/healthz").status_code == 200
            refused = sender.send_reports(reports_of(survey, [1]))
            assert (refused.status_code, refused.json()["code"]) == (503, "server")
            assert refused.json()["error"].startswith(NO_REPLICA)
            stop = threading.Event()
            fleet = GatewayFleet(
                str(sender.base_url), survey, seeded(1), mixed=True, stop=stop, on_wait=lambda cause: stop.set()
            )
            sent = fleet.run(Rows(np.arange(4)), 4)
            assert refusals(sent.refused, sent.reasons) == f"the gateway refused 1 request: server 1 ({NO_REPLICA})"
    (line,) = [record for record in caplog.records if "no reports can be taken" in record.message]
    assert NO_REPLICA in line.message
    assert str(own_server.port) in line.servers  # type: ignore[attr-defined]


def test_short_memory(own_server: EmbeddedServer) -> None:
    with connect(own_server.url) as client:
        survey = buckets(client, "ready", 4).survey
        with gateway(client, "ready") as sender:
            wait_until(lambda: sender.get("/readyz").status_code == 200)
            client.config_set("maxmemory", int(int(client.info("memory")["used_memory"]) / 0.7))
            wait_until(lambda: sender.get("/readyz").status_code == 503)
            assert "memory is above 60% of its limit" in sender.get("/readyz").json()["error"]
            assert sender.code(reports_of(survey, [1])) == "pressure"
            client.config_set("maxmemory", 0)
            wait_until(lambda: sender.get("/readyz").status_code == 200)
            assert sender.send_reports(reports_of(survey, [1])).status_code == 202
