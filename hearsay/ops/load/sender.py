"""One process of a load test: publishes reports when they are due, and keeps what each batch took.

The schedule does not wait: report k is due k / rate seconds after the start. After a pause all that is due meanwhile
goes out, and counts from when it was due. Without a rate, reports go out as fast as they are taken.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle

from hearsay.collector.errors import PublishRefused
from hearsay.collector.following import Writers
from hearsay.collector.store.durability import MEMORY
from hearsay.collector.store.registry import Registered
from hearsay.collector.wire.codec import codec
from hearsay.collector.wire.decode import FIELD_FRAME, FIELD_SINGLE
from hearsay.collector.writer import Entry, Writer
from hearsay.mechanisms.exact.randomness import Random
from hearsay.ops.load.latencies import Done
from hearsay.producer.fleet import BATCH_REPORTS, FRAME, People, frames, singles

STEPS_PER_S = 50  # a second's reports go out in so many steps
REPLAYED = 1 << 18  # reports that are drawn beforehand, and published again and again
REPLY_S = 0.1  # a publish that takes longer waits for a reply


@dataclass
class Sent:
    """What a process sent: batches, what it waited for, and where its time went."""

    batches: list[Done] = field(default_factory=list)
    waits: dict[str, float] = field(default_factory=dict)  # by cause, in seconds
    making_s: float = 0.0  # drawing, perturbing, encoding
    publishing_s: float = 0.0  # in calls of publish, waits included

    @property
    def reports(self) -> int:
        return sum(batch.reports for batch in self.batches)

    def waited(self, cause: str, seconds: float) -> None:
        self.waits[cause] = self.waits.get(cause, 0.0) + seconds


class Reports:
    """Entries of simulated devices: made as they are needed, or with `replay` made once and given again and again."""

    def __init__(
        self,
        registered: Registered,
        people: People,
        random: Random,
        *,
        frame: int | None,
        rate: float | None,
        replay: bool,
    ) -> None:
        self._mechanism = registered.survey.mechanism
        self._codec, self._people, self._random = codec(self._mechanism), people, random
        step = BATCH_REPORTS if rate is None else max(1, int(rate / STEPS_PER_S))
        self._frame = None if frame is None else max(1, min(frame, step))
        self._prepared: Iterator[tuple[Entry, int]] | None = None
        if replay:
            self._prepared = cycle(self._make(max(REPLAYED if rate is None else min(REPLAYED, int(rate)), 1)))

    def take(self, count: int) -> tuple[list[Entry], list[int]]:
        """Entries of about so many reports, and of how many each."""
        made = self._make(count) if self._prepared is None else self._next(count)
        return [entry for entry, _ in made], [reports for _, reports in made]

    def _next(self, count: int) -> list[tuple[Entry, int]]:
        assert self._prepared is not None
        taken, reports = [], 0
        while reports < count:
            taken.append(next(self._prepared))
            reports += taken[-1][1]
        return taken

    def _make(self, count: int) -> list[tuple[Entry, int]]:
        values = self._people.take(count)
        if self._frame is None:
            made = singles(self._mechanism, self._codec, values, self._random)
            return [((FIELD_SINGLE, report), 1) for report in made]
        packed = frames(self._mechanism, self._codec, values, self._random, self._frame or FRAME)
        return [((FIELD_FRAME, frame), reports) for frame, reports in packed]


class Sender:
    """Publishes `total` reports of a source, `rate` a second or as fast as they are taken."""

    def __init__(
        self, registered: Registered, reports: Reports, rate: float | None, total: int, durable: str = MEMORY
    ) -> None:
        self._registered, self._reports, self._rate, self._total = registered, reports, rate, total
        self._durable = durable
        self._waits_since: tuple[str, float] | None = None
        self._sent, self._done = Sent(), 0
        self._unsafe: dict[Writer, list[Done]] = {}  # sent, and not acknowledged yet

    def run(self, started: float, stop: threading.Event, progress: Callable[[int], None]) -> Sent:
        """Publish from `started` (a moment of the monotonic clock) on, until all are stored or `stop` is set."""
        self._started = started
        writers = Writers(
            self._registered,
            lambda shard, may_leave: Writer(
                shard, stop=stop, on_wait=self._on_wait, simulated=True, durable=self._durable, may_leave=may_leave
            ),
        )
        stop.wait(max(0.0, started - time.monotonic()))
        try:
            while self._done < self._total and not stop.is_set():
                due = self._due(stop)
                if due > self._done:
                    before = self._done
                    self._send(writers, min(due - self._done, BATCH_REPORTS))
                    progress(self._done - before)
            writers.close()
            for batches in self._unsafe.values():
                self._acknowledge(batches)
        except PublishRefused as refusal:
            if refusal.cause != PublishRefused.STOPPED:
                raise
        return self._sent

    def _due(self, stop: threading.Event) -> int:
        """How many reports are due by now; waits for the next step where none is."""
        if self._rate is None:
            return self._total
        due = min(self._total, int((time.monotonic() - self._started) * self._rate))
        least = min(max(1, int(self._rate / STEPS_PER_S)), self._total - self._done)
        if due - self._done < least:
            stop.wait(max(0.0, self._started + (self._done + least) / self._rate - time.monotonic()))
        return due if due - self._done >= least else self._done

    def _send(self, writers: Writers, count: int) -> None:
        """Make about so many reports, and publish them."""
        self._making = time.monotonic()
        entries, counts = self._reports.take(count)
        publishing = time.monotonic()
        self._sent.making_s += publishing - self._making
        writer = writers.next()  # asks the registry now and then, which may be what waits
        if (asking_s := time.monotonic() - publishing) > REPLY_S:
            self._sent.waited("reply", asking_s)
        writers.send(writer, entries, counts, self._publish)
        self._sent.publishing_s += time.monotonic() - publishing

    def _publish(self, writer: Writer, entries: Sequence[Entry], counts: Sequence[int]) -> None:
        began = time.monotonic()
        before = sum(self._sent.waits.values())
        batches = self._unsafe.setdefault(writer, [])
        try:
            is_safe = writer.send(entries, sum(counts))
        except PublishRefused as refusal:  # what is not refused is on its way, and waits there
            batches.append(self._batch(sum(counts[: len(entries) - refusal.entries])))
            raise
        finally:
            self._settle()
        batches.append(self._batch(sum(counts)))
        if is_safe:
            self._acknowledge(batches)
        elapsed = time.monotonic() - began - (sum(self._sent.waits.values()) - before)
        if elapsed > REPLY_S:
            self._sent.waited("reply", elapsed)

    def _batch(self, count: int) -> Done:
        """The next so many reports, sent now."""
        done, self._done = self._done, self._done + count
        at_s = time.monotonic() - self._started
        if self._rate is None:
            making_s = self._making - self._started
            return Done(at_s, count, making_s, making_s)
        return Done(at_s, count, (done + 1) / self._rate, (done + count) / self._rate)

    def _acknowledge(self, batches: list[Done]) -> None:
        """All of them are as safe as promised, by now."""
        at_s = time.monotonic() - self._started
        self._sent.batches += [batch._replace(at_s=at_s) for batch in batches if batch.reports]
        batches.clear()

    def _on_wait(self, cause: str) -> None:
        self._settle()
        self._waits_since = cause, time.monotonic()

    def _settle(self) -> None:
        """Count the wait that just ended."""
        if self._waits_since is not None:
            cause, began = self._waits_since
            self._sent.waited(cause, time.monotonic() - began)
            self._waits_since = None
