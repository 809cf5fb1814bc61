"""Why a request is refused: a stable code each, also the metric's label. `docs/how-to/gateway.md` lists them."""

from hearsay.collector.http.problems import Problem

RETRY_S = 2.0  # what a device is asked to wait where nobody knows better
STATUS = {
    "malformed": 400,
    "bad-id": 400,
    "too-early": 400,
    "key": 401,
    "not-for-key": 403,
    "unknown-survey": 404,
    "id-reused": 409,
    "real-reports": 409,
    "too-late": 410,
    "expired": 410,
    "closed": 410,
    "round-over": 410,
    "too-large": 413,
    "content-type": 415,
    "rate": 429,
    "pressure": 503,
    "server": 503,
}
AGAIN = ("rate", "pressure", "server")  # the same request may be sent again; the others never succeed


class Refusal(Problem):
    """A request that is not taken: its code, and one line that says what to do."""

    def __init__(self, code: str, error: str, retry_after_s: float | None = None) -> None:
        wait_s = retry_after_s or RETRY_S if code in AGAIN else None
        headers = {"WWW-Authenticate": "Bearer"} if code == "key" else None
        super().__init__(STATUS[code], code, error, retry_after_s=wait_s, headers=headers)
