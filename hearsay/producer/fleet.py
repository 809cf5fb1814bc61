"""Fleets of simulated devices: many values perturbed at once, encoded, and published at a given rate.

A fleet does what as many `Device`s would do, with the same code of the mechanism; only the calls are batched.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from hearsay.collector.errors import PublishRefused, RoundClosed, SurveyClosed
from hearsay.collector.limits import FRAME_BYTES
from hearsay.collector.wire.codec import Codec, codec
from hearsay.collector.wire.decode import FIELD_FRAME, FIELD_SINGLE
from hearsay.mechanisms import Reports
from hearsay.mechanisms.domains.domain import Values
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.layout import length_of, select
from hearsay.mechanisms.roles import DeviceSide

if TYPE_CHECKING:
    from hearsay.collector.store.registry import Registered
    from hearsay.collector.writer import Entry, Writer

FRAME = 4_096  # reports in a frame, unless asked otherwise
BATCH_REPORTS = 65_536  # reports perturbed at once: large enough for numpy, small enough for progress
BATCH_BYTES = 64 << 20  # wide reports (long bit vectors): bounds the memory of a batch
ROUND_POLL_S = 0.2  # between looks for the next round
STEPS_PER_S = 20  # at a limited rate, a second's reports go out in so many steps


class People(Protocol):
    """Where a fleet's values come from: a distribution, or the rows of a file."""

    def take(self, count: int) -> Values:
        """The values of the next people."""


class Fleet:
    """Simulated devices that publish to a survey, spread over its shards that answer; waits on back-pressure.

    `frame` is the number of reports in a frame, None publishes every report as an entry of its own. `rate` is in
    reports per second, None as fast as possible.
    """

    def __init__(
        self,
        registered: "Registered",
        random: Random,
        *,
        frame: int | None = FRAME,
        rate: float | None = None,
        stop: threading.Event | None = None,
        on_wait: Callable[[str], None] | None = None,
        durable: str = "memory",
    ) -> None:
        from hearsay.collector.following import Writers  # redis: a simulation without a server has none
        from hearsay.collector.writer import Writer

        self._registered = registered
        self._round: int | None = None
        self._is_over = False  # the round that is taken part in was closed
        self._random, self._frame, self._rate = random, frame, rate
        self._stop = stop or threading.Event()
        self._on_wait = on_wait or (lambda cause: None)
        self._writers = Writers(
            registered,
            lambda shard, may_leave: Writer(
                shard, stop=self._stop, on_wait=on_wait, simulated=True, durable=durable, may_leave=may_leave
            ),
        )

    def take_part(self, people: People, devices: int, progress: Callable[[int], None] = lambda _: None) -> int:
        """Let so many devices report, once or in every round; returns the number of reports."""
        in_rounds = self._registered.survey.windows.in_rounds
        return (self.run_rounds if in_rounds else self.run)(people, devices, progress)

    def run_rounds(self, people: People, devices: int, progress: Callable[[int], None] = lambda _: None) -> int:
        """Let the same people take part in round after round until the survey is closed; returns the number of reports.

        A device that reports after a round was closed has missed it. If the mechanism asks a device in one round only,
        the people are divided among the rounds.
        """
        count = _Count(progress)
        with _until_stopped():
            self._take_part_in(None)
            kept: list[Any] = []
            while not self._stop.is_set():
                number, mechanism = self._round or 1, self._registered.survey.mechanism
                groups = mechanism.rounds if mechanism.one_round_each else 1
                self._one_round(_Chosen(people, kept, groups, number), devices, count)
                try:
                    self._take_part_in(number)
                except SurveyClosed:
                    break
        return count.sent

    def _one_round(self, people: "_Chosen", devices: int, count: "_Count") -> None:
        """One report of each device that is asked in the open round, as far as it stays open."""
        started, asked, step = time.monotonic(), 0, self._step()
        self._is_over = False
        for batch in range(-(-devices // step)):
            if self._stop.is_set() or self._is_over:
                break  # the next round asks them again
            values = people.batch(batch, min(step, devices - batch * step))
            for writer, mine in self._dealt(values):
                count.add(self._publish_in_round(writer, mine))
            asked += len(values)
            self._keep_pace(started, asked)
        self._writers.check()

    def _publish_in_round(self, writer: "Writer", values: Values) -> int:
        """How many of the reports the open round took; fewer where it was closed meanwhile."""
        entries, counts = self._made(values)
        try:
            self._writers.send(writer, entries, counts, lambda to, some, each: to.publish(some, sum(each), self._round))
        except RoundClosed as over:
            self._is_over = True
            kept = len(entries) - min(over.entries, len(entries))
            return sum(counts[:kept])
        return len(values)

    def run(self, people: People, devices: int, progress: Callable[[int], None] = lambda _: None) -> int:
        """Publish one report for each of so many devices; returns how many, fewer only when stopped."""
        count = _Count(progress)
        with _until_stopped():
            self._take_part_in(None)
            started, step = time.monotonic(), self._step()
            while count.sent < devices and not self._stop.is_set():
                number = min(step, devices - count.sent)
                self._publish(people.take(number))
                count.add(number)
                self._keep_pace(started, count.sent)
            self._writers.close()
        return count.sent

    def _step(self) -> int:
        """How many devices report before the next look at the clock."""
        step = BATCH_REPORTS * len(self._writers.active)
        return step if self._rate is None else min(step, max(1, int(self._rate / STEPS_PER_S)))

    def _keep_pace(self, started: float, done: int) -> None:
        """Wait until more than `done` reports are due."""
        if self._rate is not None:
            self._stop.wait(max(0.0, started + done / self._rate - time.monotonic()))

    def _dealt(self, values: Values) -> Iterator[tuple["Writer", Values]]:
        """The values for each shard's writer, without empty parts."""
        writers = self._writers.answering()
        for number, writer in enumerate(writers):
            mine = values[number :: len(writers)]
            if len(mine):
                yield writer, mine

    def _take_part_in(self, closed: int | None) -> None:
        """Take the open round's parameters; wait for the round after `closed` if that is given."""
        survey, self._round = self._registered.survey, None
        if survey.windows.in_rounds:
            while not (rounds := self._registered.shards[0].rounds()).open or rounds.number == closed:
                if self._registered.look().closed:
                    raise SurveyClosed(f"survey {survey.name} is closed and takes no more reports")
                still = "still open" if rounds.open else "closed, the next one not open yet"
                self._on_wait(f"round {rounds.number} is {still}")
                if self._stop.wait(ROUND_POLL_S):
                    raise PublishRefused(f"the fleet of survey {survey.name} was stopped", PublishRefused.STOPPED)
            self._round = rounds.number
            survey = survey.in_round(rounds.history(rounds.number))
        self._mechanism: DeviceSide = survey.mechanism
        self._codec = codec(self._mechanism)

    def _publish(self, values: Values) -> None:
        for writer, mine in self._dealt(values):
            while len(mine):
                entries, counts = self._made(mine)
                try:
                    self._writers.send(
                        writer, entries, counts, lambda to, some, each: to.send(some, sum(each), self._round)
                    )
                    break
                except RoundClosed as over:
                    # Simulated devices that were too late take part in the next round instead.
                    late = min(over.entries, len(entries))
                    mine = mine[len(mine) - sum(counts[len(counts) - late :]) :]
                    self._take_part_in(over.number)

    def _made(self, values: Values) -> tuple[list["Entry"], list[int]]:
        """Entries, and how many reports each has."""
        if self._frame is None:
            made = [(FIELD_SINGLE, one) for one in singles(self._mechanism, self._codec, values, self._random)]
            return made, [1] * len(made)
        framed = list(frames(self._mechanism, self._codec, values, self._random, self._frame))
        return [(FIELD_FRAME, frame) for frame, _ in framed], [count for _, count in framed]


class _Count:
    """How many reports went out, shown as they do."""

    def __init__(self, progress: Callable[[int], None]) -> None:
        self.sent, self._progress = 0, progress

    def add(self, reports: int) -> None:
        self.sent += reports
        self._progress(reports)


@contextmanager
def _until_stopped() -> Iterator[None]:
    """End quietly if the fleet was stopped while it waited; any other refusal is an error."""
    try:
        yield
    except PublishRefused as refusal:
        if refusal.cause != PublishRefused.STOPPED:
            raise


class _Chosen:
    """The people of a fleet, drawn once and kept; of every batch those who are asked in a round."""

    def __init__(self, people: People, kept: list[Any], groups: int, number: int) -> None:
        self._people, self._kept, self._groups, self._number = people, kept, groups, number

    def batch(self, number: int, count: int) -> Any:
        """The values of a batch of so many devices, reduced to those who are asked."""
        if number == len(self._kept):
            self._kept.append(self._people.take(count))
        values = self._kept[number]
        return values if self._groups == 1 else values[self._number - 1 :: self._groups]


def frames(
    mechanism: DeviceSide, wire: Codec, values: Values, random: Random, size: int = FRAME
) -> Iterator[tuple[bytes, int]]:
    """The devices' reports in frames of at most `size`, each with the number of its reports."""
    size = max(1, min(size, FRAME_BYTES // 2 // _report_bytes(wire)))
    for reports in _perturbed(mechanism, wire, values, random):
        for start in range(0, length_of(reports), size):
            part = select(reports, slice(start, start + size))
            yield wire.encode_frame(part), length_of(part)


def singles(mechanism: DeviceSide, wire: Codec, values: Values, random: Random) -> Iterator[bytes]:
    """The devices' reports one by one."""
    for reports in _perturbed(mechanism, wire, values, random):
        yield from wire.encode_singles(reports)


def _perturbed(mechanism: DeviceSide, wire: Codec, values: Values, random: Random) -> Iterator[Reports]:
    batch = max(1, min(BATCH_REPORTS, BATCH_BYTES // _report_bytes(wire)))
    for start in range(0, len(values), batch):
        yield mechanism.perturb(values[start : start + batch], random)


def _report_bytes(wire: Codec) -> int:
    return max(1, *(variant.row_bytes for variant in wire.variants), 1)
