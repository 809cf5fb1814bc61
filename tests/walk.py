"""How far each step of the pipeline walks: `python -m tests.walk` prints the table of docs/explanation/architecture.md.

A survey is collected on a real server in this process, and the calls of each step are traced. Counted are the files of
`hearsay/` in which a function was called, how often the folder (collector, estimator and so on) of the innermost such
function changed, on call and on return, and how often the server was asked.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import redis
from redis.connection import AbstractConnection
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import hearsay
from hearsay.collector import limits
from hearsay.collector.dispatch.dispatcher import CollectorSettings, Dispatcher
from hearsay.collector.health.loop import Health
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import Survey, parse
from hearsay.collector.writer import Writer
from hearsay.estimator.answering import ask
from hearsay.estimator.materialise import Materialiser
from hearsay.estimator.open_survey import OpenSurvey
from hearsay.estimator.readings import live
from hearsay.estimator.serving.api import create_app
from hearsay.ops.server.embedded import EmbeddedServer
from hearsay.producer.device import Device
from hearsay.workers.context import Context, set_current
from hearsay.workers.fold import fold_range

HOME = str(Path(hearsay.__file__).parent) + "/"
STEPS = (
    "Device.report",
    "publish",
    "dispatch: cut and enqueue",
    "worker job",
    "estimator pass, changed survey",
    "estimator pass, idle survey",
    "live query",
    "open_survey().ask",
    "HTTP query while reports flow",
    "HTTP query, nothing new",
)
PREFIX = "walk"
ACCUMULATOR = b":chunk:"  # in the names of keys that hold parts of an accumulator


class Bound(NamedTuple):
    """The most that a step may take."""

    files: int
    changes: int
    trips: int


BOUNDS = {
    "Device.report": Bound(12, 20, 0),
    "publish": Bound(3, 0, 1),
    "dispatch: cut and enqueue": Bound(9, 0, 3),
    "worker job": Bound(21, 50, 5),
    "estimator pass, changed survey": Bound(30, 50, 8),
    "estimator pass, idle survey": Bound(8, 10, 2),
    "live query": Bound(22, 22, 3),
    "open_survey().ask": Bound(23, 22, 3),
    "HTTP query while reports flow": Bound(25, 28, 3),
    "HTTP query, nothing new": Bound(10, 10, 2),
}


@dataclass
class Walk:
    """What was seen of one step."""

    files: set[str] = field(default_factory=set)
    changes: int = 0
    calls: int = 0  # of functions of hearsay
    commands: list[bytes] = field(default_factory=list)  # what was sent to a server, one item a round trip
    _stack: list[str] = field(default_factory=list)

    @property
    def trips(self) -> int:
        return len(self.commands)

    @property
    def files_of_roles(self) -> set[str]:
        """Without the mathematics."""
        return {name for name in self.files if not name.startswith("mechanisms/")}

    def within(self, bound: Bound) -> bool:
        return len(self.files) <= bound.files and self.changes <= bound.changes and self.trips <= bound.trips

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """As `sys.setprofile` calls it."""
        name = frame.f_code.co_filename
        if event not in ("call", "return") or not name.startswith(HOME) or frame.f_code.co_name == "<module>":
            return
        before = self._stack[-1] if self._stack else None
        if event == "call":
            self.calls += 1
            self.files.add(name.removeprefix(HOME))
            self._stack.append(name.removeprefix(HOME).partition("/")[0])
        elif self._stack:
            self._stack.pop()
        after = self._stack[-1] if self._stack else None
        self.changes += before is not None and after is not None and before != after

    @contextmanager
    def traced(self) -> Iterator[None]:
        """Everything that happens inside is counted."""
        real = AbstractConnection.send_packed_command

        def sent(connection: AbstractConnection, command: Any, *arguments: Any, **more: Any) -> None:
            self.commands.append(b"".join([command] if isinstance(command, bytes) else command))
            real(connection, command, *arguments, **more)

        AbstractConnection.send_packed_command = sent  # type: ignore[method-assign]
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(None)
            AbstractConnection.send_packed_command = real  # type: ignore[method-assign]


def walk(survey: Survey, value: Any, question: str, client: redis.Redis, root: Path) -> dict[str, Walk]:
    """Every step of a survey's pipeline, each after it was done once: what is read or imported once does not count."""
    registry = Registry(client, PREFIX)
    registered = registry.add(survey)
    set_current(Context(client, PREFIX))
    pipeline = _Pipeline(client, registry, registered, value)
    materialiser = Materialiser(registry, root)
    query = _query_address(
        create_app(registry, Health(), materialiser.failures, materialiser.readings), survey.name, question
    )
    opened = OpenSurvey(registered, registry)

    for _ in range(2):  # the first time imports, parses and connects
        walks = {name: Walk() for name in STEPS}
        pipeline.deliver(walks)
        with walks["estimator pass, changed survey"].traced():
            materialiser.run_once()
        with walks["estimator pass, idle survey"].traced():
            materialiser.run_once()
        with walks["live query"].traced():
            current = live(registered)
            ask(current.survey, current.sum.reports, current.estimate, question)
        with walks["open_survey().ask"].traced():
            opened.ask(question)
        pipeline.deliver({name: Walk() for name in STEPS})
        with walks["HTTP query while reports flow"].traced():
            query()
        with walks["HTTP query, nothing new"].traced():
            query()
    return walks


class _Pipeline:
    """From a device to a commit, the steps apart."""

    def __init__(self, client: redis.Redis, registry: Registry, registered: Registered, value: Any) -> None:
        self._registered, self._value = registered, value
        self._device = Device(registered.survey)
        self._dispatcher = Dispatcher(client, client, CollectorSettings(PREFIX))
        self._writer = Writer(registered.shards[0])

    def deliver(self, walks: dict[str, Walk]) -> None:
        """One report, folded and committed."""
        store = self._registered.shards[0]
        with walks["Device.report"].traced():
            report = self._device.report(self._value)
        number = 1 if self._registered.survey.mechanism.rounds > 1 else None
        with walks["publish"].traced():
            self._writer.publish([(b"r", report)], 1, number)
        time.sleep(1.2 * limits.CUT_AGE_MS / 1_000)
        self._dispatcher.chores()  # which surveys there are, is asked twice a second
        with walks["dispatch: cut and enqueue"].traced():
            assert self._dispatcher.dispatch()
        (cut,) = store.ranges()
        survey = self._registered.survey
        with walks["worker job"].traced():
            assert fold_range(survey.name, survey.tag8, 0, cut.seq, cut.nonce) == "ok"
        self._dispatcher.queue.empty()


def _query_address(app: Starlette, name: str, question: str) -> Callable[[], Response]:
    """A query as the HTTP server puts it, without the server's own thread."""
    path = "/api/surveys/{name}/query"
    (endpoint,) = [route.endpoint for route in app.routes if isinstance(route, Route) and route.path == path]
    string = f"q={question.replace(' ', '+')}".encode()

    def query() -> Response:
        scope = {"type": "http", "method": "GET", "path": path, "headers": [], "query_string": string}
        response: Response = endpoint(Request({**scope, "path_params": {"name": name}}))
        assert response.status_code == 200
        return response

    return query


def surveys() -> list[tuple[Survey, Any, str]]:
    """Surveys of three families, a value of each, and a question."""
    small = {"answers": {"minimum_reports": 1}, "epsilon": 2.0}
    ordinal = {"kind": "ordinal", "size": 1_024}
    tables: list[tuple[dict[str, Any], Any, str]] = [
        ({"name": "colours", "mechanism": "hrr", "domain": {"kind": "categorical", "size": 8}}, 3, "frequencies"),
        ({"name": "minutes", "mechanism": "haar", "domain": ordinal}, 300, "range 100 400"),
        ({"name": "ratings", "mechanism": "privkv", "domain": {"kind": "key-value", "keys": 8}}, {3: 0.5}, "means"),
    ]
    return [(parse({**table, **small}), value, question) for table, value, question in tables]


def walk_all(server: EmbeddedServer, root: Path) -> dict[str, dict[str, Walk]]:
    """Every survey's steps, each survey alone on the server."""
    walks = {}
    for survey, value, question in surveys():
        with redis.Redis.from_url(server.url) as client:
            client.flushall()
            walks[survey.name] = walk(survey, value, question, client, root / survey.name)
    return walks


def table(walks: dict[str, dict[str, Walk]]) -> list[str]:
    """In Markdown: a row for each step, over all surveys."""
    lines = [
        "| step | files | of them outside `mechanisms` | changes of folder | round trips |",
        "|---|---|---|---|---|",
    ]
    for step in STEPS:
        seen = [each[step] for each in walks.values()]
        columns = [(len(one.files), len(one.files_of_roles), one.changes, one.trips) for one in seen]
        lines.append(" | ".join([f"| {step}", *map(_span, zip(*columns, strict=True))]) + " |")
    return lines


def _span(numbers: tuple[int, ...]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low}-{high}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, EmbeddedServer(Path(folder) / "server") as running:
        seen = walk_all(running, Path(folder) / "snapshots")
        print("\n".join(table(seen)))
        if "--files" in sys.argv:
            for survey_name, steps in seen.items():
                for step_name, one in steps.items():
                    print(f"\n{survey_name}, {step_name}:", *sorted(one.files), sep="\n  ")
