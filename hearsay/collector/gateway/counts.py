"""What this process has counted since it last wrote it to Redis."""

from collections import Counter

from starlette.responses import Response

from hearsay.collector.gateway.refusals import Refusal
from hearsay.collector.http.problems import problem
from hearsay.collector.store.processes.gateway_counts import REFUSED


class Counts(Counter[str]):
    """Fields of `store.gateway_counts`."""

    def refuse(self, refusal: Refusal) -> Response:
        """The answer to a request that is not taken, counted by its code."""
        self[REFUSED + refusal.code] += 1
        return problem(refusal.status_code, refusal.code, refusal.detail, refusal.headers)
