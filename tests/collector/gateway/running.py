"""A gateway in a thread of the test, and requests to it."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import msgpack
import numpy as np

from hearsay.collector.gateway.app import CONTENT_TYPE
from hearsay.collector.gateway.service import GatewayProcess, Options
from hearsay.collector.http.server import listen
from hearsay.collector.store.connect import Client
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import Survey
from hearsay.collector.wire.codec import codec
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.producer.request_id import new_request_id as identity

__all__ = ["Sender", "gateway", "identity", "reports_of"]
HEADERS = {"Content-Type": CONTENT_TYPE.decode()}


def reports_of(survey: Survey, values: list[int]) -> list[bytes]:
    """One report a value, as `Device.report` gives it."""
    mechanism = survey.mechanism
    return codec(mechanism).encode_singles(mechanism.perturb(np.array(values), seeded(1)))


class Sender(httpx.Client):
    """A client of one gateway."""

    def send_reports(
        self, reports: list[Any] | bytes, name: str = "buckets", *, query: str = "", **headers: str
    ) -> httpx.Response:
        """A request with an id of its own unless `id` gives one; other headers by name, empty: left out."""
        body = reports if isinstance(reports, bytes) else msgpack.packb(reports)
        every = {**HEADERS, "Idempotency-Key": headers.pop("id", None) or identity()}
        every |= {name.replace("_", "-").title(): value for name, value in headers.items()}
        every = {name: value for name, value in every.items() if value}
        return self.post(f"/v1/surveys/{name}/reports{query}", content=body, headers=every)

    def code(self, reports: list[Any] | bytes, name: str = "buckets", **more: Any) -> str:
        """The code of the refusal, or the status where there is none."""
        response = self.send_reports(reports, name, **more)
        return response.json().get("code", str(response.status_code))


@contextmanager
def gateway(client: Client, prefix: str, port: int = 0, **options: Any) -> Iterator[Sender]:
    """A gateway that holds nothing unless told to; on leaving it ends as by SIGTERM."""
    listening = listen("127.0.0.1", port)
    process = GatewayProcess(Registry(client, prefix), Options(**{"hold_s": 0.0, **options}))
    thread = threading.Thread(target=process.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not process.started:
        assert thread.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    with Sender(base_url=f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=20) as sender:
        yield sender
        process.should_exit = True
        thread.join(10)
        assert not thread.is_alive()
