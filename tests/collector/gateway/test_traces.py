"""What a gateway leaves behind: nothing that says whose a report is, and nothing of those who misbehave but counts."""

import http.client
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import msgpack
import numpy as np
import redis

from hearsay.collector.gateway.app import CONTENT_TYPE
from hearsay.collector.store import api_keys
from hearsay.collector.store.connect import connect
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.estimator.serving.exporter import PipelineMetrics
from hearsay.ops.server.embedded import EmbeddedServer
from tests.collector.gateway.running import gateway, identity, reports_of
from tests.ops.commands.test_gateway import SURVEY, command
from tests.pipeline import buckets, fold_all, state_of

DEVICE = "127.0.0.9"  # an address that nothing else has


def test_no_address_key_or_id_is_in_logs_redis_or_metrics(own_server: EmbeddedServer) -> None:
    """Also where requests are malformed, refused or broken, and everything is logged."""
    registry = Registry(connect(own_server.url), "hs")
    survey = registry.add(parse(SURVEY)).survey
    _, key = api_keys.add(registry, "phones")
    names = [identity() for _ in range(4)]
    good = msgpack.packb(reports_of(survey, [1]))
    with command(own_server, "hs", "--keys", "--log-level", "debug") as (process, sender):
        time.sleep(2.5)  # until the key is known
        address = urlsplit(str(sender.base_url))
        for number, body in enumerate((good, good + b"x", b"", b"\xff" * 99)):
            device = http.client.HTTPConnection(address.hostname or "", address.port, source_address=(DEVICE, 0))
            headers = {"Content-Type": CONTENT_TYPE.decode(), "Idempotency-Key": names[number]}
            path = "/v1/surveys/likes/reports"
            device.request("POST", path, body, {**headers, "Authorization": f"Bearer {key}"})
            assert (device.getresponse().status == 202) == (body is good)
            device.close()
        with socket.create_connection((address.hostname, address.port), source_address=(DEVICE, 0)) as broken:
            broken.sendall(b"GARBAGE " + names[0].encode() + b"\r\n\r\n")
            broken.recv(100)
        process.terminate()
        assert process.wait(10) == 0
        assert process.stderr is not None
        logged = process.stderr.read().encode()
    metrics = " ".join(str(metric.samples) for metric in PipelineMetrics(registry, {}).collect()).encode()
    own_server.stop()
    left = b"".join(path.read_bytes() for path in Path(own_server.aof_directory).parent.rglob("*") if path.is_file())
    octets = [bytes.fromhex(name.replace("-", "")) for name in names]
    marks = [DEVICE.encode(), key.encode(), key.split("_", 2)[2].encode(), *map(str.encode, names), *octets]
    for place, content in (("logs", logged), ("metrics", metrics), ("the server's files", left)):
        assert len(content) > 50, place
        for mark in marks:
            assert mark not in content, place
    assert b"XADD" in left  # the log of the server was looked at


def test_liars_replayers_malformed_and_flooding_senders_change_as_much_as_they_may(
    client: redis.Redis, prefix: str
) -> None:
    """A liar counts once for each request, as anybody; what replays, is malformed or too much counts nowhere."""
    asked, honest, liars = buckets(client, prefix, 100), 380, 20
    registry = Registry(client, prefix)
    people = f"Bearer {api_keys.add(registry, 'people')[1]}"
    values = np.random.default_rng(1).integers(50, 100, honest).tolist()
    with gateway(client, prefix, keys=True, key_rate=1_000.0) as sender:
        for value in values:
            answer = sender.send_reports(reports_of(asked.survey, [value]), authorization=people)
            assert answer.status_code == 202
        for _ in range(liars):
            same, lie = identity(), reports_of(asked.survey, [0])
            for _ in range(10):
                assert sender.send_reports(lie, id=same, authorization=people).status_code == 202
        for body in (b"\x91", msgpack.packb([b"\xc1"]), msgpack.packb([b"\xcd\xff\xff"] * 50), b"x" * 100):
            sender.send_reports(body, authorization=people)
        assert {sender.code(reports_of(asked.survey, [0]), authorization="Bearer nobody") for _ in range(50)} == {"key"}
    store = asked.shards[0]
    fold_all(store)
    expected = np.bincount(values, minlength=100)
    expected[0] += liars
    assert state_of(store)["hist"].tolist() == expected.tolist()
    assert registry.gateway_counts.all()["rejected:outside-domain"] == 50


def test_who_floods_is_told_to_wait_and_others_are_served(client: redis.Redis, prefix: str) -> None:
    asked = buckets(client, prefix, 10)
    registry = Registry(client, prefix)
    flood, people = (f"Bearer {api_keys.add(registry, name)[1]}" for name in ("flood", "people"))
    good = reports_of(asked.survey, [1])
    with gateway(client, prefix, keys=True, key_rate=5.0) as sender:
        codes = [sender.code(good, authorization=flood) for _ in range(60)]
        assert codes.count("rate") > 30
        assert sender.code(good, authorization=people) == "202"
