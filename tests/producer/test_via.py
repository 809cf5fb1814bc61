"""Simulated devices behind a gateway: every report once, requests due by the clock, refusals told."""

import json
import re
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
import redis

from hearsay.collector.gateway.simulated import FRESH_S
from hearsay.collector.http.server import listen
from hearsay.collector.store import api_keys
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.store.shard import Shard
from hearsay.collector.survey.survey import parse
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.cli import run
from hearsay.producer.errors import GatewayError
from hearsay.producer.populations import Population
from hearsay.producer.request_id import new_request_id
from hearsay.producer.values import Rows
from hearsay.producer.via import fleet
from hearsay.producer.via.fleet import GatewayFleet, fetch_with_birth
from tests.collector.gateway.running import Sender, gateway, reports_of
from tests.identity import known_to_this_process
from tests.pipeline import buckets, fold_all, state_of
from tests.rounds import rounds_table, two_rounds_known

__all__ = ["known_to_this_process", "two_rounds_known"]


@pytest.fixture
def asked(client: redis.Redis, prefix: str) -> Registered:
    return buckets(client, prefix, 2_000)


@pytest.fixture
def sender(client: redis.Redis, prefix: str, asked: Registered) -> Iterator[Sender]:
    with gateway(client, prefix) as running:
        yield running


def everybody(count: int = 2_000) -> Rows:
    return Rows(np.arange(count))


def test_every_report_counts_once(sender: Sender, asked: Registered) -> None:
    url = str(sender.base_url)
    survey, _ = fetch_with_birth(url, "buckets")
    assert survey.tag == asked.survey.tag
    done: list[int] = []
    sent = GatewayFleet(url, survey, seeded(1), size=7).run(everybody(), 2_000, done.append)
    assert (sent.accepted, sent.rejected, len(sent.late_s), sum(done)) == (2_000, 0, 286, 2_000)
    fold_all(asked.shards[0])
    assert (state_of(asked.shards[0])["hist"] == 1).all()


def test_requests_are_due_by_the_clock(client: redis.Redis, prefix: str, asked: Registered) -> None:
    """A gateway that holds for half a second still gets them all in time: none waits for an answer."""
    with gateway(client, prefix, hold_s=0.5) as sender:
        started = time.monotonic()
        fleet_ = GatewayFleet(str(sender.base_url), asked.survey, seeded(1), size=10, rate=2_000.0)
        sent = fleet_.run(everybody(), 1_000)
        assert 0.45 <= time.monotonic() - started < 25.0  # one after the other, 100 requests would take 50
    assert sent.accepted == 1_000
    assert 0.0 < sent.table()["answered_p50_s"] < 20.0


def test_what_gets_no_answer_is_sent_again(client: redis.Redis, prefix: str, asked: Registered) -> None:
    """The gateway comes later than its devices."""
    with listen("127.0.0.1", 0) as reserved:
        port = reserved.getsockname()[1]
    result: list[fleet.Sent] = []
    devices = GatewayFleet(f"http://127.0.0.1:{port}", asked.survey, seeded(1))
    thread = threading.Thread(target=lambda: result.append(devices.run(everybody(), 2_000)))
    thread.start()
    time.sleep(0.3)
    with gateway(client, prefix, port=port):
        thread.join(20)
    (sent,) = result
    assert sent.accepted == 2_000
    assert sent.repeats > 0
    fold_all(asked.shards[0])
    assert (state_of(asked.shards[0])["hist"] == 1).all()


def test_pressure_is_waited_for(sender: Sender, asked: Registered) -> None:
    store = asked.shards[0]
    store.set_pressure("memory")
    causes: list[str] = []

    def wait(cause: str) -> None:
        causes.append(cause)
        store.set_pressure(None)

    sent = GatewayFleet(str(sender.base_url), asked.survey, seeded(1), on_wait=wait).run(everybody(), 100)
    assert sent.accepted == 100
    assert set(causes) == {"pressure"}


def test_final_refusals_are_counted(sender: Sender, asked: Registered) -> None:
    asked.shards[0].close()
    sent = GatewayFleet(str(sender.base_url), asked.survey, seeded(1), size=50).run(everybody(), 100)
    assert (sent.accepted, dict(sent.refused)) == (0, {"closed": 2})


def test_simulated_reports_are_marked_and_not_mixed_unasked(
    sender: Sender, asked: Registered, capsys: pytest.CaptureFixture[str]
) -> None:
    url = str(sender.base_url)
    words = ["produce", "buckets", "--via", url, "--devices", "30", "--frame", "10"]
    assert run(words) == 0
    seen = asked.look()
    assert (seen.published_reports, seen.simulated_reports) == (30, 30)
    assert sender.send_reports(reports_of(asked.survey, [1])).status_code == 202  # as a device sends
    time.sleep(FRESH_S)
    assert run(words) == 2
    refusal = capsys.readouterr().err
    assert "survey buckets has 1 report not simulated" in refusal
    assert "use another survey, or --into-real" in refusal
    assert run([*words, "--into-real"]) == 0
    seen = asked.look()
    assert (seen.published_reports, seen.simulated_reports) == (61, 60)
    assert sender.code(reports_of(asked.survey, [1]), hearsay_simulated="perhaps") == "malformed"


def test_what_cannot_be_sent_is_said(sender: Sender) -> None:
    url = str(sender.base_url)
    with pytest.raises(GatewayError, match="does not describe survey nobody: no survey of this name"):
        fetch_with_birth(url, "nobody")
    with pytest.raises(GatewayError, match="does not answer"):
        fetch_with_birth("http://127.0.0.1:1", "buckets")
    with pytest.raises(GatewayError, match="must be a URL"):
        fetch_with_birth("127.0.0.1:8788", "buckets")


def next_round(store: Shard, number: int, reports: int, parameters: dict[str, object] | None) -> None:
    """As an estimator does, once so many reports are there; at the latest after some seconds, or nobody would end."""
    deadline = time.monotonic() + 10
    while store.status().published_reports < reports and time.monotonic() < deadline:
        time.sleep(0.02)
    store.close_round(number)
    if parameters is None:
        store.close()
    else:
        store.open_round(number + 1, parameters)


def test_devices_are_dealt_out_to_the_rounds(client: redis.Redis, prefix: str) -> None:
    asked = Registry(client, prefix).add(parse(rounds_table(4)))
    store = asked.shards[0]
    with gateway(client, prefix) as sender:

        def estimator() -> None:
            next_round(store, 1, 20, {"chosen": [1, 3]})
            next_round(store, 2, 40, None)

        thread = threading.Thread(target=estimator)
        thread.start()
        devices = GatewayFleet(str(sender.base_url), asked.survey, seeded(1), size=7)
        sent = devices.run(Rows(np.arange(40) % 4), 40)
        thread.join(20)
    assert (sent.accepted, sent.missed, dict(sent.refused)) == (40, 0, {})
    assert {fields[b"k"] for _, fields in client.xrange(store.keys.stream)} == {b"1", b"2"}


def test_a_round_that_is_drawn_for_each_device_is_asked_for_by_each(client: redis.Redis, prefix: str) -> None:
    table = {"name": "apps", "mechanism": "privkvm", "epsilon": 4.0, "domain": {"kind": "key-value", "keys": 5}}
    asked = Registry(client, prefix).add(parse({**table, "options": {"rounds": 3}}))
    store, mechanism = asked.shards[0], asked.survey.mechanism
    people = Population(mechanism.domain.shapes()[0], mechanism.domain, np.random.default_rng(1))
    with gateway(client, prefix) as sender:

        def estimator() -> None:
            state = mechanism.empty()
            parameters = mechanism.next_round(state)
            next_round(store, 1, 40, parameters)
            next_round(store, 2, 80, None)

        thread = threading.Thread(target=estimator)
        thread.start()
        sent = GatewayFleet(str(sender.base_url), asked.survey, seeded(1), size=7).run(people, 40)
        thread.join(20)
    assert (sent.accepted, sent.rejected, dict(sent.refused)) == (80, 0, {})
    assert len(sent.late_s) == 6 + 40  # round 1 is the same for all; in round 2 each has asked for its own


def test_by_command(
    client: redis.Redis, prefix: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = {"name": "likes", "mechanism": "hrr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 8}}
    registry = Registry(client, prefix)
    registry.add(parse(table))
    _, key = api_keys.add(registry, "phones")
    with gateway(client, prefix, keys=True) as sender:
        line = ["produce", "likes", "--via", str(sender.base_url), "--devices", "500", "--frame", "20", "--json"]
        assert run([*line, "--devices", "100,000", "--rate", "50000"]) == 1
        refusal = re.search(
            r"refused ([\d,]+) requests?: key \d+; give a key with --key or HEARSAY_KEY", capsys.readouterr().err
        )
        assert refusal is not None
        assert int(refusal[1].replace(",", "")) < 2_500  # of 5,000: the first answer holds for all
        monkeypatch.setenv("HEARSAY_KEY", key)
        assert run(line) == 0
        answer = json.loads(capsys.readouterr().out)
        assert (answer["reports"], answer["requests"], answer["refused"]) == (500, 25, {})
        assert run(["produce", "likes", "--via", str(sender.base_url), "--devices", "3", "--single"]) == 0
        assert "3 reports taken by the gateway" in capsys.readouterr().out
        assert run([*line, "--frame", "1001"]) == 2
        assert registry.get("likes").look().simulated_reports == 503
    assert run(line) == 2
    assert "does not answer" in capsys.readouterr().err


def test_ids_are_uuids_of_version_7() -> None:
    assert len({new_request_id() for _ in range(1_000)}) == 1_000
