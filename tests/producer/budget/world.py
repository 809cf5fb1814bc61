"""A device's surroundings that fail on purpose: a gateway, two clocks, programs that stop between two statements."""

import random
import sqlite3
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any

from hearsay.collector.survey.survey import Survey
from hearsay.producer.budget.budget import Budget
from hearsay.producer.budget.ledger import Entry, Ledger
from hearsay.producer.budget.link import Answer, NotAnswered, NotReached
from hearsay.producer.errors import BudgetSpent, GatewayError, LedgerError

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
START_MS = 1_800_000_000_000


class Crash(BaseException):
    """The program ends here, as by kill -9."""


class World:
    """One device with up to two processes on one ledger, and its gateway. Every step is checked."""

    def __init__(self, survey: Survey, path: Path, seed: int) -> None:
        self.survey, self.path, self.random = survey, path, random.Random(seed)
        self.now_ms, self.ahead_ms = START_MS, 0
        self.crash_after: int | None = None
        self.gateway = FailingGateway(self)
        self.drawn = 0
        self.outcomes: dict[str, int] = defaultdict(int)
        self.active = 0
        self.processes = [self.start(), self.start()]

    def clock(self) -> int:
        """The device's."""
        return self.now_ms + self.ahead_ms

    def start(self) -> Budget:
        ledger = Ledger(self.path, self.clock, lambda *given, **more: _Fragile(self, *given, **more))
        return Budget(self.survey, ledger, self.gateway, self.clock)  # type: ignore[arg-type]

    def restart(self, process: int) -> None:
        """Start a process again, until it does not stop while starting."""
        while True:
            with suppress(Crash):
                self.processes[process] = self.start()
                return

    def may_crash(self) -> None:
        """Called before and after all that a program does."""
        if self.crash_after is not None:
            self.crash_after -= 1
            if self.crash_after < 0:
                self.crash_after = None
                raise Crash

    def draw(self, answered: int) -> bytes:
        """No two reports are the same, so that each can be followed."""
        self.drawn += 1
        return b"%d" % self.drawn

    def run(self, process: int, what: str) -> str:
        """One process submits or flushes."""
        before, self.active = self.active, process
        try:
            budget = self.processes[process]
            outcome = budget.submit(self.draw, None) if what == "submit" else f"flush {min(budget.flush(), 1)}"
        except (BudgetSpent, GatewayError, LedgerError) as error:
            outcome = error.code
        except Crash:
            self.crash_after = None
            outcome = "crash"
        finally:
            self.active = before
        if outcome == "crash":  # not while its traceback still holds cursors, and they their locks
            self.restart(process)
        self.outcomes[outcome] += 1
        self.check()
        return outcome

    def step(self) -> None:
        draw = self.random.random()
        process = self.random.randrange(2)
        if draw < 0.45:
            self.run(process, "submit")
        elif draw < 0.6:
            self.run(process, "flush")
        elif draw < 0.72:
            self.crash_after = self.random.randrange(40)
            self.run(process, self.random.choice(("submit", "flush")))
        elif draw < 0.86:
            self.now_ms += self.random.choice((1_000, 60_000, HOUR_MS, 5 * HOUR_MS, 13 * HOUR_MS, 2 * DAY_MS))
        elif draw < 0.9:
            self.ahead_ms = self.random.choice((0, 0, -HOUR_MS, -DAY_MS, HOUR_MS, 3 * DAY_MS))
        elif draw < 0.97:
            self.gateway.mood = self.random.choice(FailingGateway.MOODS)
        else:
            self.restart(process)

    def check(self) -> None:
        """Spent on disk covers all that left; an id has one body, a body one id, a window one body."""
        with sqlite3.connect(self.path) as db:
            charges = db.execute("SELECT charges FROM surveys").fetchone()[0]
            windows = {report: window for window, report in self.gateway.windows(db)}
        db.close()
        left = {body for _, body in self.gateway.posts}
        assert charges >= len(left), "more was sent than spent"
        limit = self.survey.participation.lifetime_epsilon
        if limit is not None:
            assert charges * self.survey.epsilon <= limit * (1 + 1e-9), "more was spent than a life allows"
        if self.survey.participation.repeat == "once":
            assert len(left) <= 1, "a survey was answered twice"
        bodies, ids = defaultdict(set), defaultdict(set)
        for identity, body in self.gateway.posts:
            bodies[identity].add(body)
        for identity, body in Counter(self.gateway.posts) - Counter(self.gateway.refused):
            ids[body].add(identity)
        assert all(len(each) == 1 for each in bodies.values()), "an id with two bodies"
        assert all(len(each) == 1 for each in ids.values()), "a report may be stored under two ids"
        assert len(set(self.gateway.stored.values())) == len(self.gateway.stored), "a report was stored twice"
        assert len(set(windows.values())) == len(windows), "a window was answered twice"


class FailingGateway:
    """Stores each request once, as ours does, and fails as told. Both processes share it."""

    MOODS = ("well", "well", "offline", "lost", "unsaid", "busy", "keyless", "moody")
    url = "http://127.0.0.1/v1/surveys/walk"

    def __init__(self, world: World) -> None:
        self.world, self.mood = world, "well"
        self.posts: list[tuple[str, bytes]] = []
        self.refused: list[tuple[str, bytes]] = []  # posts whose answers prove that they were not stored
        self.stored: dict[str, bytes] = {}
        self._busy, self.alone = False, False

    def windows(self, db: sqlite3.Connection) -> list[tuple[int, bytes]]:
        """Of all that left the device, by the ids that the ledger remembers."""
        sent = dict(self.posts)
        return [(window, sent[each]) for window, each in db.execute("SELECT window, id FROM reports") if each in sent]

    def connect(self) -> None:
        self.world.may_crash()
        if self.mood == "offline" or (self.mood == "moody" and self.world.random.random() < 0.3):
            raise NotReached
        self._let_the_other_run()
        if not self.alone and self.world.random.random() < 0.1:  # it took long
            self.world.now_ms += self.world.random.choice((60_000, HOUR_MS, DAY_MS))

    def _let_the_other_run(self) -> None:
        """The other process acts while this one waits for the network."""
        if not (self._busy or self.alone) and self.world.random.random() < 0.2:
            self._busy, crash, self.world.crash_after = True, self.world.crash_after, None
            try:
                self.world.run(1 - self.world.active, self.world.random.choice(("submit", "flush")))
            finally:
                self._busy, self.world.crash_after = False, crash

    def post(self, entry: Entry) -> Answer:
        self.world.may_crash()
        self._check_due(entry)
        self.posts.append((entry.id, entry.report))
        self._let_the_other_run()
        mood = self.mood if self.mood != "moody" else self.world.random.choice(self.MOODS[:-1])
        if mood in ("offline", "lost"):
            raise NotAnswered
        if mood == "busy":
            return Answer(503, {"code": "pressure"}, 2.0)
        if mood == "keyless":
            return self._refuse(entry, 401, "key")
        age_ms = self.world.now_ms - int(entry.id.replace("-", "")[:12], 16)
        if age_ms > DAY_MS:
            return self._refuse(entry, 410, "too-late")
        if age_ms < -HOUR_MS:
            return self._refuse(entry, 400, "too-early")
        if self.stored.setdefault(entry.id, entry.report) != entry.report:
            return Answer(409, {"code": "id-reused"})
        self.world.may_crash()
        if mood == "unsaid":
            raise NotAnswered
        return Answer(202, {"accepted": 1, "rejected": 0})

    def _refuse(self, entry: Entry, status: int, code: str) -> Answer:
        self.refused.append((entry.id, entry.report))
        return Answer(status, {"code": code})

    def _check_due(self, entry: Entry) -> None:
        """Nothing is sent after its window, nor again when gateways have forgotten it, by the device's clock."""
        with sqlite3.connect(self.world.path) as db:
            ((end_ms,),) = db.execute("SELECT end_ms FROM reports WHERE id = ?", (entry.id,))
        db.close()
        assert end_ms is None or self.world.clock() < end_ms, "a report was sent after its window"
        again = any(identity == entry.id for identity, _ in self.posts)
        age_ms = self.world.clock() - int(entry.id.replace("-", "")[:12], 16)
        assert not again or age_ms < DAY_MS, "a report was sent again after a day"

    def survey(self) -> Answer:
        self.connect()
        if self.mood == "busy":
            return Answer(503, {"code": "server"}, 2.0)
        return Answer(200, {"definition": self.world.survey.canonical()})

    def close(self) -> None:
        pass


class _Fragile(sqlite3.Connection):
    """A connection of a program that may stop before, or after, any statement; nothing waits for a disk."""

    def __init__(self, world: World, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._world = world

    def execute(self, statement: str, *given: Any) -> sqlite3.Cursor:
        self._world.may_crash()
        done = super().execute("PRAGMA synchronous = OFF" if statement.startswith("PRAGMA") else statement, *given)
        self._world.may_crash()
        return done
