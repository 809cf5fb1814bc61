"""Who may read the page: a strict content policy, and only requests that name this machine.

A page elsewhere could make its own name point to this machine, and a browser would then let it read every answer. Such
a request still carries the other name in its header Host, so names that are not ours are refused.
"""

import ipaddress
import re
import socket
from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hearsay.collector.http.problems import problem

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_PORT = re.compile(r":\d+$")


class Guard:
    """Around the application: refuses foreign hosts, adds the headers."""

    def __init__(self, app: ASGIApp, public_hosts: Iterable[str] = ()) -> None:
        self._app = app
        self._names = {"localhost", socket.gethostname().lower(), *(host.lower() for host in public_hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *HEADERS]}
            await send(message)

        host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
        if self.is_ours(host):
            await self._app(scope, receive, guarded)
        else:
            words = "this server does not answer to that name; add it with --public-host"
            await problem(421, "host", words)(scope, receive, guarded)

    def is_ours(self, host: str) -> bool:
        """Whether a header Host names this machine: an address, localhost, its own name or a public one."""
        name = _PORT.sub("", host).lower()
        return name in self._names or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True
