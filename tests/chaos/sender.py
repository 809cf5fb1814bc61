"""Devices behind gateways: a process that sends every value once, keeps an outbox, and may be killed at any moment.

`python -m tests.chaos.sender SURVEY OUTBOX START STOP PACE PORT...` sends the values START..STOP-1, one in about PACE
seconds. The outbox has a line for each request before it is first sent, and another one when it is answered. Whoever
starts it again goes on where it was: what was not answered is sent again, with the same id and the same bytes.
"""

import http.client
import json
import random
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgpack

from hearsay.collector.gateway.app import CONTENT_TYPE
from hearsay.collector.gateway.refusals import AGAIN
from hearsay.producer.request_id import new_request_id as identity

THREADS = 4
SIZES = (1, 1, 10, 100, 400)  # reports in a request
REPLAYED = 0.1  # of the requests: sent once more after they were answered
ELSEWHERE = 0.2  # of the requests: after them another gateway may be chosen
PAUSE_S = 0.02


class Outbox:
    """Requests by id: where their values begin and end, and whether they were answered."""

    def __init__(self, path: Path, start: int, stop: int) -> None:
        self._lock, self._next, self._stop = threading.Lock(), start, stop
        self._left: dict[str, tuple[int, int]] = {}
        for line in path.read_text().splitlines(keepends=True) if path.exists() else ():
            if not line.endswith("\n"):
                break  # killed while it wrote: the request was never sent
            word = json.loads(line)
            if "answered" in word:
                self._left.pop(word["answered"], None)
            else:
                self._left[word["id"]] = (word["start"], word["stop"])
                self._next = max(self._next, word["stop"])
        text = path.read_text() if path.exists() else ""
        path.write_text(text[: text.rfind("\n") + 1])
        self._file = path.open("a", buffering=1)
        self._again = iter(list(self._left.items()))

    def take(self, choice: random.Random) -> tuple[str, int, int] | None:
        """A request that was not answered, or the next one; None: there are no more."""
        with self._lock:
            for name, (start, stop) in self._again:
                return name, start, stop
            if self._next >= self._stop:
                return None
            start, self._next = self._next, min(self._next + choice.choice(SIZES), self._stop)
            name = identity()
            self._write({"id": name, "start": start, "stop": self._next})
            return name, start, self._next

    def answered(self, name: str) -> None:
        with self._lock:
            self._write({"answered": name})

    def _write(self, word: dict[str, object]) -> None:
        self._file.write(json.dumps(word) + "\n")


class Device(threading.Thread):
    """Sends one request after the other, to any of the gateways."""

    def __init__(self, survey: str, outbox: Outbox, ports: list[int], pace_s: float) -> None:
        super().__init__()
        self._path = f"/v1/surveys/{survey}/reports"
        self._outbox, self._ports, self._pace_s, self._choice = outbox, ports, pace_s, random.Random()
        self._connection: http.client.HTTPConnection | None = None
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            for name, start, stop in self._requests():
                first = self._send(name, start, stop)
                assert first == {"accepted": stop - start, "rejected": 0}, first
                self._outbox.answered(name)
                if self._choice.random() < REPLAYED:
                    assert self._send(name, start, stop) == first
        except BaseException as error:
            self.failure = error

    def _requests(self) -> Iterator[tuple[str, int, int]]:
        while (request := self._outbox.take(self._choice)) is not None:
            yield request
            time.sleep(self._pace_s * (request[2] - request[1]))

    def _send(self, name: str, start: int, stop: int) -> object:
        """Until it is answered for good; a refusal that is final is a failure."""
        body = msgpack.packb([msgpack.packb(value) for value in range(start, stop)])
        headers = {"Content-Type": CONTENT_TYPE.decode(), "Idempotency-Key": name}
        while True:
            try:
                if self._connection is None:
                    port = self._choice.choice(self._ports)
                    self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
                self._connection.request("POST", self._path, body, headers)
                response = self._connection.getresponse()
                text = response.read()
                assert response.headers["Content-Type"].endswith("json"), (response.status, text[:200])
                answer = json.loads(text)
                if response.status == 202:
                    if self._choice.random() < ELSEWHERE:
                        self._connection.close()
                        self._connection = None
                    return answer
                assert answer["code"] in AGAIN, answer
            except (OSError, http.client.HTTPException):
                pass
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            time.sleep(PAUSE_S)


def main(words: list[str]) -> int:
    """0 when every value is answered for; 1 where one never can be."""
    survey, path, start, stop, pace_s, *ports = words
    outbox = Outbox(Path(path), int(start), int(stop))
    devices = [Device(survey, outbox, [int(port) for port in ports], THREADS * float(pace_s)) for _ in range(THREADS)]
    for device in devices:
        device.start()
    for device in devices:
        device.join()
    failures = [device.failure for device in devices if device.failure is not None]
    print(*failures, sep="\n", file=sys.stderr)
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
