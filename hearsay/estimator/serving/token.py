"""The token that API, metrics and readiness ask for, in the header `Authorization: Bearer TOKEN`.

`/healthz` stays open for whoever restarts the process. The page's own files stay open too: they hold no answer, and the
page asks the person for the token.
"""

import hmac

from starlette.types import ASGIApp, Receive, Scope, Send

from hearsay.collector.http.problems import problem

CODE = "token"
OPEN = ("/", "/plan", "/healthz")
OPEN_BELOW = ("/assets/", "/surveys/")
SCHEME = b"bearer "


class TokenGuard:
    """Around the application: 401 for what is not open, without the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or is_open(scope["path"]) or self._has_token(scope):
            await self._app(scope, receive, send)
            return
        words = "this server asks for its token (HEARSAY_API_TOKEN); send the header Authorization: Bearer TOKEN"
        await problem(401, CODE, words, {"WWW-Authenticate": "Bearer"})(scope, receive, send)

    def _has_token(self, scope: Scope) -> bool:
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        scheme, token = given[: len(SCHEME)].lower(), given[len(SCHEME) :].strip()
        return scheme == SCHEME and hmac.compare_digest(token, self._token)  # in constant time


def is_open(path: str) -> bool:
    """Whether an address is answered without a token."""
    return path in OPEN or path.startswith(OPEN_BELOW)
