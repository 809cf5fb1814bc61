"""Clients that are slow, greedy or silent stop nobody else; pages of other origins send only where they may."""

import socket
import ssl
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
import redis

from hearsay import Device
from hearsay.collector.gateway import service
from hearsay.collector.http import server
from hearsay.collector.store.registry import Registered
from hearsay.ops.doctor import machine
from hearsay.producer.errors import GatewayError
from hearsay.producer.via.fleet import fetch_with_birth
from tests.collector.gateway.running import Sender, gateway, identity, reports_of
from tests.pipeline import buckets

HEAD = (
    "POST /v1/surveys/buckets/reports HTTP/1.1\r\nHost: a\r\nContent-Type: application/vnd.hearsay.v1+msgpack\r\n"
    "Idempotency-Key: {}\r\nContent-Length: {}\r\n\r\n"
)


@pytest.fixture
def asked(client: redis.Redis, prefix: str) -> Registered:
    return buckets(client, prefix, 10)


def connection(sender: Sender) -> socket.socket:
    opened = socket.create_connection((sender.base_url.host, sender.base_url.port or 0))
    opened.settimeout(10.0)
    return opened


def is_served(sender: Sender, asked: Registered) -> bool:
    """Whether somebody who comes now is answered soon."""
    with httpx.Client(base_url=sender.base_url, timeout=15.0) as other:
        return Sender.send_reports(other, reports_of(asked.survey, [1])).status_code == 202  # type: ignore[arg-type]


def test_slow_greedy_and_lying_clients_stop_nobody(
    client: redis.Redis, prefix: str, asked: Registered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "REQUEST_S", 0.3)
    monkeypatch.setattr(server, "RESPONSE_S", 0.6)
    with gateway(client, prefix) as sender, ExitStack() as stack:
        slow, lying, greedy, late = (stack.enter_context(connection(sender)) for _ in range(4))
        slow.sendall(HEAD.format(identity(), 100)[:60].encode())  # half a head
        lying.sendall(HEAD.format(identity(), 50).encode() + b"\x91\xc4\x01x")  # and never the rest
        greedy.sendall(HEAD.format(identity(), 10**12).encode())
        late.sendall(HEAD.format(identity(), 3).encode() + b"\x91\xc4\x01x GARBAGE")
        assert is_served(sender, asked)
        assert greedy.recv(12) == b"HTTP/1.1 413"
        assert late.recv(12) in (b"", b"HTTP/1.1 400")  # the first request is in work, or answered
        for _ in range(20):
            greedy.sendall(b"x" * 65_536)  # thrown away
        assert is_served(sender, asked)
        assert slow.recv(100) == b""
        assert lying.recv(100) == b""
    assert int(client.xlen(asked.shards[0].keys.stream)) == 2


def test_idle_connections_make_room(
    client: redis.Redis, prefix: str, asked: Registered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "CONNECTIONS", 30)
    with gateway(client, prefix) as sender, ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(connection(sender))
        assert is_served(sender, asked)


@pytest.mark.slow
def test_ten_thousand_idle_connections_stop_nobody(
    client: redis.Redis, prefix: str, asked: Registered, tmp_path: Path
) -> None:
    """Held by another process: each end takes a file."""
    code = (
        "import socket, sys, time\n"
        "host, port = sys.argv[1], int(sys.argv[2])\n"
        "held = []\n"
        "for number in range(10_000):\n"
        "    held.append(socket.create_connection((host, port)))\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    with gateway(client, prefix) as sender:
        words = [sender.base_url.host, str(sender.base_url.port)]
        with subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.PIPE, text=True) as idle:
            assert idle.stdout is not None
            assert idle.stdout.readline() == "ready\n"
            times = []
            for _ in range(20):
                started = time.monotonic()
                assert is_served(sender, asked)
                times.append(time.monotonic() - started)
            idle.kill()
    assert sorted(times)[10] < 0.5


def test_pages_of_other_origins(client: redis.Redis, prefix: str, asked: Registered) -> None:
    preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "idempotency-key"}
    address, good = "/v1/surveys/buckets/reports", "https://good.example"
    with gateway(client, prefix, origins=(good,)) as sender:
        allowed = sender.options(address, headers={"Origin": good, **preflight})
        assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, good)
        assert sender.options(address, headers={"Origin": "https://bad.example", **preflight}).status_code == 400
        for origin, echoed in ((good, good), ("https://bad.example", None)):
            answers = [
                sender.send_reports(reports_of(asked.survey, [1]), origin=origin),
                sender.send_reports(b"", origin=origin),
                sender.get("/v1/surveys/buckets", headers={"Origin": origin}),
            ]
            assert [answer.headers.get("access-control-allow-origin") for answer in answers] == [echoed] * 3
    with gateway(client, prefix) as sender:
        assert "access-control-allow-origin" not in sender.send_reports(b"", origin=good).headers
        assert sender.options(address, headers={"Origin": good, **preflight}).status_code == 405


def test_tls_by_certificate_files(client: redis.Redis, prefix: str, asked: Registered, tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    words = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    subprocess.run([*words.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    with gateway(client, prefix, certificate=certificate, private_key=key) as sender:
        address = str(sender.base_url).replace("http:", "https:")
        trusted = ssl.create_default_context(cafile=str(certificate))
        with httpx.Client(base_url=address, verify=trusted) as secure:
            answer = Sender.send_reports(secure, reports_of(asked.survey, [1]))  # type: ignore[arg-type]
            assert answer.status_code == 202
        with pytest.raises(httpx.HTTPError):
            sender.get("/healthz")
        finding = machine._port("gateway", "gateway", "127.0.0.1", int(sender.base_url.port or 0))
        assert (finding.ok, finding.words) == (True, "the gateway answers by TLS")
        with pytest.raises(
            GatewayError, match=r"cannot be trusted \(self-signed certificate\); SSL_CERT_FILE may name"
        ):
            fetch_with_birth(address, asked.survey.name)
        with pytest.raises(
            GatewayError, match="its certificate cannot be trusted: self-signed certificate; SSL_CERT_FILE"
        ):
            Device(f"{address}/v1/surveys/{asked.survey.name}", ledger=tmp_path / "ledger")
    with gateway(client, prefix) as sender, pytest.raises(GatewayError, match="does not answer in TLS; is it a plain"):
        fetch_with_birth(str(sender.base_url).replace("http:", "https:"), asked.survey.name)
