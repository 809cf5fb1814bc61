"""A survey on a server, opened by its name: what an application needs to publish to it and to ask it."""

from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from hearsay.collector.errors import SurveyClosed
from hearsay.collector.offers import open_offer
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import Survey
from hearsay.collector.survey.windows import ALL
from hearsay.collector.writer import Writer
from hearsay.estimator.answer_table import Answers
from hearsay.estimator.answering import ask
from hearsay.estimator.comparing import Comparison, ask_trend
from hearsay.estimator.readings import Readings
from hearsay.estimator.snapshots.loading import Snapshot
from hearsay.mechanisms.changes import TREND, parse_trend
from hearsay.mechanisms.exact.randomness import secure


@dataclass(frozen=True)
class OpenSurvey:
    """A registered survey with its connection, which `with` closes at the end."""

    registered: Registered
    _registry: Registry
    _readings: Readings = field(default_factory=Readings)

    @property
    def survey(self) -> Survey:
        """Its definition, for `Device`."""
        return self.registered.survey

    def writer(self, shard: int = 0) -> Writer:
        """A way into one of its streams, for one thread."""
        return Writer(self.registered.active[shard])

    def offer(self) -> dict[str, Any] | None:
        """The open round for one device, as `Device.report(value, round=...)` takes it; None while the last one is
        being counted. SurveyClosed after the last one: whoever waits for the next would wait for ever."""
        offer = open_offer(self.registered, secure())
        if offer is None and self.registered.look().closed:
            raise SurveyClosed(f"survey {self.survey.name} is closed and takes no more reports")
        return None if offer is None else offer.table()

    def windows(self) -> list[str]:
        """Every window that holds something, oldest first."""
        return [window.name for window in self.registered.look().windows]

    def read(self, window: str = ALL) -> Snapshot:
        """What a window (its name, `all`, or `last:N`) holds at this moment, as `load_snapshot` would give it."""
        return Snapshot.of(self._readings.live(self.registered, window).content())

    def ask(self, question: str, window: str = ALL, against: str | None = None, **how: Any) -> Answers:
        """The answers at this moment; `how` as in `Snapshot.ask`. Only what is new since the last one is fetched.

        `against` names other windows, or `NAME:WINDOW` of another survey: then every answer is a difference. A question
        that begins with `trend` is about all final windows (docs/how-to/changes.md).
        """
        seen = self.registered.look()
        if question.startswith(TREND):
            return Answers(ask_trend(self._readings, self.registered, seen, parse_trend(question)))
        current = self._readings.live(self.registered, window, seen)
        if against is not None:
            comparison = Comparison(self._registry, self._readings)
            how["against"] = comparison.other_side(self.registered, seen, window, against)
        return Answers(ask(current.survey, current.sum.reports, current.estimate, question, **how))

    def __repr__(self) -> str:
        return f"Open {self.survey!r}"

    def close(self) -> None:
        """Let the connection go."""
        self._registry.servers.disconnect()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
