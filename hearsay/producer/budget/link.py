"""A device's way to its gateway: HTTP by the standard library, TLS but for this machine, no redirects, no proxies."""

import http.client
import json
import re
import ssl
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

import msgpack

from hearsay.collector.addresses import is_loopback
from hearsay.producer.budget.ledger import Entry
from hearsay.producer.errors import GatewayError, ProducerError

CONTENT_TYPE = "application/vnd.hearsay.v1+msgpack"
TIMEOUT_S = 30.0
LARGEST_ANSWER = 16 << 20  # a survey may carry a matrix
_EXAMPLE = "https://gateway.example/v1/surveys/NAME"


class Answer(NamedTuple):
    """What the gateway answered; `table` is empty where the body was no JSON object."""

    status: int
    table: Mapping[str, Any]
    retry_after_s: float | None = None

    @property
    def code(self) -> str:
        """The refusal's stable word."""
        return str(self.table.get("code", self.status))

    @property
    def is_gateway_s(self) -> bool:
        """Whether a gateway made it: a portal, a proxy or another site on the way has no such codes."""
        return isinstance(self.table.get("code"), str)


class NotReached(ProducerError):
    """There is no connection: nothing left the device."""

    CODE = "not-reached"


class NotAnswered(ProducerError):
    """The request may have left the device; nobody knows what became of it. Where a gateway said that it cannot answer
    now, `by_gateway` is true, and `retry_after_s` is how long it asks to be left alone."""

    CODE = "not-answered"

    def __init__(self, message: str = "", retry_after_s: float | None = None, *, by_gateway: bool = False) -> None:
        super().__init__(message)
        self.by_gateway = by_gateway
        self.retry_after_s = retry_after_s or 0.0


class Gateway(Protocol):
    """What the outbox needs of it."""

    def connect(self) -> None:
        """Make the connection, without a request; NotReached where there is none."""

    def post(self, entry: Entry) -> Answer:
        """Send a report over the connection; NotAnswered where no answer came."""

    def close(self) -> None:
        """Give the connection back."""


class Link:
    """One survey's address on a gateway. `key` is sent to it and never shown."""

    def __init__(self, url: str, key: str | None = None) -> None:
        url = re.sub("//+v1/surveys/", "/v1/surveys/", url)  # of a gateway's address that ends with a slash
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if host is None or parts.scheme not in ("http", "https") or parts.username is not None:
            raise GatewayError(what="the survey's URL", expected=f"like {_EXAMPLE}")
        if not re.fullmatch(r"[!-~]*", url):
            raise GatewayError(
                what="the survey's URL", must=f"have no spaces and only ASCII characters, like {_EXAMPLE}"
            )
        if "/v1/surveys/" not in parts.path or parts.query or parts.fragment:
            raise GatewayError(what="the survey's URL", expected=f"like {_EXAMPLE} and end with the survey's name")
        if parts.scheme == "http" and not is_loopback(host):
            raise GatewayError(
                what="the survey's URL", must="begin with https", ending=": plain http is for this machine only"
            )
        self.url, self._path, self._key = url.rstrip("/"), parts.path.rstrip("/"), _plain_key(key)
        self._connection = (
            http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
            if parts.scheme == "http"
            else http.client.HTTPSConnection(host, port, timeout=TIMEOUT_S, context=ssl.create_default_context())
        )

    def connect(self) -> None:
        """Make the connection, without a request; NotReached where there is none."""
        if self._connection.sock is not None:
            return
        try:
            self._connection.connect()
        except ssl.SSLCertVerificationError as error:
            self._connection.close()
            why = f"its certificate cannot be trusted: {error.verify_message}"
            raise NotReached(f"{why}; SSL_CERT_FILE may name its authority's file") from None
        except ssl.SSLError:
            self._connection.close()
            raise NotReached("not in TLS; if it is a plain port, the URL starts with http://") from None
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise NotReached(type(error).__name__) from None

    def post(self, entry: Entry) -> Answer:
        """Send a report over the connection; NotAnswered where no answer came."""
        headers = {"Content-Type": CONTENT_TYPE, "Idempotency-Key": entry.id}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        query = "" if entry.round is None else f"?round={entry.round}"
        return self._ask("POST", f"/reports{query}", msgpack.packb([entry.report]), headers)

    def survey(self) -> Answer:
        """What the gateway says of the survey."""
        self.connect()
        return self._ask("GET", "")

    def round(self) -> Answer:
        """The open round, as this device gets it."""
        self.connect()
        return self._ask("GET", "/round")

    def close(self) -> None:
        """Give the connection back."""
        self._connection.close()

    def _hint(self, error: Exception) -> str:
        """What a TLS port does to a plain request: it hangs up, or answers in TLS."""
        is_plain = not isinstance(self._connection, http.client.HTTPSConnection)
        hangs_up = isinstance(error, http.client.RemoteDisconnected | http.client.BadStatusLine)
        return "; if it is a TLS port, the URL starts with https://" if is_plain and hangs_up else ""

    def _ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        try:
            self._connection.request(method, self._path + path, body, dict(headers or {}))
            response = self._connection.getresponse()
            content = response.read(LARGEST_ANSWER + 1)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise NotAnswered(type(error).__name__ + self._hint(error)) from None
        if len(content) > LARGEST_ANSWER or not response.isclosed():
            self._connection.close()
        return Answer(response.status, _table(content), _seconds(response.getheader("Retry-After")))


def _plain_key(key: object) -> str | None:
    """The key without the spaces and line ends of the file it was read from; no message ever shows it."""
    if key is None:
        return None
    plain = key.strip() if isinstance(key, str) else None
    if plain is None or not re.fullmatch(r"[!-~]*", plain):
        raise GatewayError(
            what="the key", expected="one word of letters, digits, _ and -, as `hearsay key add` prints it"
        )
    return plain or None


def _table(content: bytes) -> dict[str, Any]:
    try:
        table = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return table if isinstance(table, dict) else {}


def _seconds(text: str | None) -> float | None:
    """Retry-After in seconds; a date, which our gateway never sends, counts as a minute."""
    if text is None:
        return None
    return float(text) if text.strip().isdecimal() and len(text) < 9 else 60.0
