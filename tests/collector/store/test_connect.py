"""Connecting: a server that cannot be used is one line, and no password is ever shown."""

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import redis

from hearsay.collector.errors import ServerError
from hearsay.collector.store.connect import address, check_server, connect
from hearsay.collector.store.servers import plain
from hearsay.ops.server.embedded import EmbeddedServer

SECRET = "open-sesame"


def error_of(url: str) -> str:
    with pytest.raises(ServerError) as caught:
        connect(url, timeout_s=2.0)
    message = str(caught.value)
    assert SECRET not in message
    assert message.isprintable()
    return message


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://localhost:6379/0", "localhost:6379"),
        (f"redis://user:{SECRET}@example.org:7000", "example.org:7000"),
        ("redis://localhost", "localhost:6379"),
        ("unix:///run/valkey.sock", "/run/valkey.sock"),
    ],
)
def test_an_address_has_no_password(url: str, expected: str) -> None:
    assert address(url) == expected


def test_a_good_server_is_used(server: EmbeddedServer) -> None:
    assert connect(server.url).ping()


def test_a_lost_reply_is_never_repeated_by_the_client(server: EmbeddedServer) -> None:
    assert connect(server.url).get_retry().get_retries() == 0


@pytest.mark.parametrize(
    "url",
    [
        f"redis://:{SECRET}",
        f"redis://{SECRET}:{SECRET}",
        f"http://user:{SECRET}@localhost:6379",
        "",
        SECRET,
        f"redis://x..y/?password={SECRET}",
        f"redis://127.0.0.1:6379/?bogus={SECRET}",
    ],
)
def test_what_is_no_url_is_told_how_one_looks(url: str) -> None:
    assert error_of(url).startswith("Redis URL must be like redis://[user:password@]host:port[/number], or unix://path")


def test_nobody_at_the_door(unused_port: int) -> None:
    message = error_of(f"redis://user:{SECRET}@127.0.0.1:{unused_port}")
    hint = (
        "start it (all services of a checkout: make run; the embedded server alone: hearsay redis) or name another "
        "in HEARSAY_REDIS_URL"
    )
    assert message == f"Redis server at 127.0.0.1:{unused_port} cannot be reached; {hint}"


@pytest.fixture
def unused_port(own_server: EmbeddedServer) -> int:
    own_server.stop()
    return int(own_server.address.rsplit(":", 1)[1].split("/")[0])


def test_a_wrong_password(server: EmbeddedServer) -> None:
    url = server.address.replace("redis://", f"redis://nobody:{SECRET}@")
    words = "refused the user name or password: name the right ones in HEARSAY_REDIS_URL"
    assert error_of(url) == f"Redis server at {address(url)} {words}"


def test_no_password(server: EmbeddedServer) -> None:
    assert "asks for a password: name it in HEARSAY_REDIS_URL, or for an embedded server its --data-dir" in error_of(
        server.address
    )


def test_a_user_who_may_not_ask(server: EmbeddedServer, client: redis.Redis) -> None:
    client.acl_setuser("weak", enabled=True, passwords=[f"+{SECRET}"], commands=["+get"], keys=["*"])
    assert "cannot be used" in error_of(server.address.replace("redis://", f"redis://weak:{SECRET}@"))
    client.acl_deluser("weak")


def test_a_database_that_is_not_there(server: EmbeddedServer) -> None:
    assert "cannot be used: DB index is out of range" in error_of(f"{server.url.rsplit('/', 1)[0]}/999")


@pytest.fixture
def web_server() -> Iterator[int]:
    class Quiet(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running.server_port
        running.shutdown()
        thread.join()


def test_no_redis_at_all(web_server: int) -> None:
    assert error_of(f"redis://127.0.0.1:{web_server}").endswith(
        "does not speak Redis's protocol; is this an HTTP port?"
    )


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl"])
def test_a_server_that_evicts_is_refused(server: EmbeddedServer, client: redis.Redis, policy: str) -> None:
    client.config_set("maxmemory-policy", policy)
    try:
        expected = f"Redis server must run with maxmemory-policy noeviction, got {policy}"
        assert error_of(server.url) == expected
        assert connect(server.url, check=False).ping()
    finally:
        client.config_set("maxmemory-policy", "noeviction")


class Reporting:
    """A client of a server that says what version it is."""

    def __init__(self, version: str) -> None:
        self.version = version

    def info(self) -> dict[str, str]:
        return {"redis_version": self.version}


@pytest.mark.parametrize("version", ["6.2.0", "6.10.1", "7.0.15", "10.0", "255.255.255"])
def test_servers_from_6_2_on_are_accepted(version: str) -> None:
    check_server(Reporting(version))


@pytest.mark.parametrize("version", ["5.0.14", "6.0.16", "2.8"])
def test_older_servers_are_refused(version: str) -> None:
    with pytest.raises(ServerError, match=rf"^Redis server must be at least 6\.2, got {version}$"):
        check_server(Reporting(version))


def test_tls_against_a_plain_port_is_told_so(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "REPLY_S", 1.0)
    message = error_of(server.url.replace("redis://", "rediss://"))
    assert "does not answer in TLS; is it a plain port? Then the URL starts with redis://" in message


@pytest.fixture
def tls_url(tmp_path: Path) -> Iterator[str]:
    """A server that speaks TLS with a certificate of its own making, beside its key in `tmp_path`: nobody trusts it."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("makes a certificate with openssl")
    asked = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=a", "-addext",
             "subjectAltName=IP:127.0.0.1"]  # fmt: skip
    subprocess.run([openssl, *asked, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    with suppress(OSError), context.wrap_socket(connection, server_side=True) as wrapped:
                        wrapped.recv(1)

        threading.Thread(target=serve, daemon=True).start()
        yield f"rediss://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


def test_a_certificate_that_nobody_trusts_is_the_reason_given(tls_url: str) -> None:
    message = error_of(tls_url)
    assert "has a certificate that cannot be trusted: self" in message
    assert message.endswith("; name its authority's file in SSL_CERT_FILE, or in the URL as ?ssl_ca_certs=FILE")


def test_a_certificate_is_trusted_where_the_url_or_the_environment_names_its_authority(
    tls_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server then ends the connection, since it is none of Redis."""
    certificate = tmp_path / "certificate.pem"
    assert "certificate" not in error_of(f"{tls_url}?ssl_ca_certs={certificate}")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert "certificate" not in error_of(tls_url)
    assert error_of(tls_url.replace("127.0.0.1", "localhost")).endswith(
        "; the URL must name the server as its certificate does"
    )
