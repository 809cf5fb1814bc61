"""What a device spent, and the reports that it made: one SQLite file, readable by its owner only.

Budget, report, request id and the answered round are written in one transaction, before anything is sent. A report is
drawn inside that transaction, after its budget was found: whatever stops the program, either all of it is on disk or
nothing was drawn that anybody saw. Several processes may share the file; a writer waits for the other.

A report is `waiting` until it is `stored` (the gateway has it), `refused` (the gateway does not want it), `given-up`
(sent, but nobody knows what became of it), `returned` (never sent: its budget is given back) or `handed-out` (the
program got the bytes). The device's value is in no column.

`sent` is 0 while nothing has left the device. It counts the attempts that may have stored the report, each before its
first byte leaves. An answer which proves that nothing was stored takes its own attempt back; after the last of them
`sent` is -1: others have seen the report, so it stays paid for, and no gateway has it, so it may get a new id.
"""

import json
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from hearsay.collector.survey.participation import MEMOISED, ONCE, is_within
from hearsay.collector.survey.windows import Window
from hearsay.producer.budget.terms import Terms
from hearsay.producer.errors import BudgetSpent, LedgerError
from hearsay.producer.request_id import new_request_id

OUTBOX = 1_000  # reports that may wait; a device that cannot send makes no more
FINISHED_KEPT = 1_000  # older ones are only counted
RENEW_MS = 12 * 3_600_000  # a report that no gateway can have gets a new id after so long: they refuse ids of a day
OLD_MS = 24 * 3_600_000  # a gateway has forgotten by then what it stored
EARLY_MS = 3_600_000  # how far ahead of the clock an id may be
BUSY_S = 30.0
WAITING, STORED, REFUSED, GIVEN_UP, RETURNED, HANDED_OUT = (
    *("waiting", "stored", "refused", "given-up", "returned", "handed-out"),
)
VERSION = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS device (version INTEGER NOT NULL, secret BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS surveys (
    tag TEXT PRIMARY KEY, name TEXT NOT NULL, definition TEXT NOT NULL, url TEXT, epsilon REAL NOT NULL,
    charges INTEGER NOT NULL DEFAULT 0, answered INTEGER NOT NULL DEFAULT 0, forgotten INTEGER,
    tries INTEGER NOT NULL DEFAULT 0, next_ms INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS reports (
    number INTEGER PRIMARY KEY AUTOINCREMENT, tag TEXT NOT NULL, window INTEGER NOT NULL, round INTEGER,
    end_ms INTEGER, charges INTEGER NOT NULL, report BLOB, id TEXT NOT NULL, sent INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL, UNIQUE (tag, window));
CREATE TABLE IF NOT EXISTS counts (tag TEXT, state TEXT, reports INTEGER NOT NULL, PRIMARY KEY (tag, state));
"""


Draw = Callable[[int], bytes]  # of the last round that was answered, a report


class Entry(NamedTuple):
    """A report in the ledger, ready to be sent."""

    number: int
    id: str
    report: bytes
    round: int | None


class Account(NamedTuple):
    """What was spent on one survey, in rounds or not; `reports` counts them by state."""

    name: str
    tag: str
    epsilon: float
    spent: float
    in_rounds: bool
    reports: dict[str, int]


class Ledger:
    """The file at `path`, made where there is none. `clock` gives milliseconds."""

    def __init__(
        self,
        path: str | Path,
        clock: Callable[[], int],
        connect: Callable[..., sqlite3.Connection] = sqlite3.connect,
    ) -> None:
        self._path, self._clock, self._connect = Path(path), clock, connect
        try:
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            if self._path.stat().st_mode & 0o077:
                self._path.chmod(0o600)
        except OSError as error:
            raise LedgerError(f"ledger {path} cannot be used: {error.strerror or error}") from None
        with self._transaction() as db:
            for statement in _TABLES.split(";"):
                db.execute(statement)
            known = db.execute("SELECT version, secret FROM device").fetchone()
            if known is None:
                known = (VERSION, secrets.token_bytes(32))
                db.execute("INSERT INTO device VALUES (?, ?)", known)
            if known[0] != VERSION:
                raise LedgerError(
                    what=f"ledger {path}", must=f"have version {VERSION}", got=known[0], ending="; use a newer hearsay"
                )
        self.secret: bytes = known[1]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A connection that holds the file's write lock; committed at the end, undone by any error."""
        try:
            db = self._connect(self._path, timeout=BUSY_S, isolation_level=None)
            try:
                db.execute("PRAGMA synchronous = FULL")
                db.execute("BEGIN IMMEDIATE")
                yield db
                db.execute("COMMIT")
            finally:
                if db.in_transaction:
                    db.rollback()
                db.close()
        except sqlite3.Error as error:
            raise LedgerError(f"ledger {self._path} cannot be used: {error}") from None

    def enter(self, survey: Terms, url: str | None) -> None:
        """Take a survey up; what was spent on it before stays."""
        definition = json.dumps(survey.canonical())
        with self._transaction() as db:
            db.execute(
                "INSERT INTO surveys (tag, name, definition, url, epsilon) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (tag) DO UPDATE SET url = coalesce(excluded.url, url)",
                (survey.tag, survey.name, definition, url, survey.epsilon),
            )

    def definition(self, url: str) -> dict[str, Any] | None:
        """The newest survey that this URL answered with; None: none is known."""
        with self._transaction() as db:
            row = db.execute("SELECT definition FROM surveys WHERE url = ? ORDER BY rowid DESC", (url,)).fetchone()
        return None if row is None else json.loads(row[0])

    def answered(self, tag: str) -> int:
        """The last round that was answered; 0: none."""
        with self._transaction() as db:
            return int(db.execute("SELECT answered FROM surveys WHERE tag = ?", (tag,)).fetchone()[0])

    def spend(self, survey: Terms, window: Window, round_number: int | None, draw: Draw, state: str = WAITING) -> Entry:
        """One report, drawn and paid for; BudgetSpent before anything is drawn."""
        with self._transaction() as db:
            charges = self._charges(db, survey, window)
            per_report = survey.participation.repeat != MEMOISED and not survey.windows.in_rounds
            waiting = db.execute(
                "SELECT count(*) FROM reports WHERE tag = ? AND state = ?", (survey.tag, WAITING)
            ).fetchone()[0]
            if waiting >= OUTBOX:
                raise LedgerError(f"{waiting:,} reports of {survey.name} wait to be sent; call flush() when online")
            answered = db.execute("SELECT answered FROM surveys WHERE tag = ?", (survey.tag,)).fetchone()[0]
            report, identity = draw(answered), new_request_id(self._clock())
            number = db.execute(
                "INSERT INTO reports (tag, window, round, end_ms, charges, report, id, sent, state) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    # What is paid once for life is not given back with its first report: others follow for nothing.
                    *(survey.tag, window.number, round_number, window.end_ms, 1 if per_report else 0),
                    *(report if state == WAITING else None, identity, state != WAITING, state),
                ),
            ).lastrowid
            db.execute(
                "UPDATE surveys SET charges = charges + ?, answered = max(answered, ?) WHERE tag = ?",
                (charges, round_number or 0, survey.tag),
            )
            self._forget(db, survey.tag)
        assert number is not None
        return Entry(number, identity, report, round_number)

    def _charges(self, db: sqlite3.Connection, survey: Terms, window: Window) -> int:
        """How many times epsilon a report in this window costs; BudgetSpent where it may not be made."""
        charges, forgotten = db.execute(
            "SELECT charges, forgotten FROM surveys WHERE tag = ?", (survey.tag,)
        ).fetchone()
        rule = survey.participation
        if survey.windows.in_rounds:
            due = 0 if charges else 1  # epsilon covers all rounds together
        elif rule.repeat == ONCE and charges:
            raise BudgetSpent(f"survey {survey.name} is answered; a device answers it once")
        else:
            due = rule.charges(charges, survey.memoised_buckets)
        known = db.execute("SELECT 1 FROM reports WHERE tag = ? AND window = ?", (survey.tag, window.number)).fetchone()
        if known is not None or (forgotten is not None and window.number <= forgotten):
            raise BudgetSpent(f"window {window.name} of survey {survey.name} is answered")
        spent = self._spent(db, survey.name)
        if rule.lifetime_epsilon is not None and not is_within(spent + due * survey.epsilon, rule.lifetime_epsilon):
            raise BudgetSpent(
                f"survey {survey.name} may spend {rule.lifetime_epsilon:g} over a life; {spent:g} is spent"
            )
        return due

    def _forget(self, db: sqlite3.Connection, tag: str) -> None:
        """Keep only a number of the oldest finished reports, and which windows they were of."""
        finished = "FROM reports WHERE tag = ? AND state != 'waiting'"
        over = db.execute(f"SELECT count(*) {finished}", (tag,)).fetchone()[0] - FINISHED_KEPT
        if over <= FINISHED_KEPT // 10:
            return
        oldest = f"SELECT number {finished} ORDER BY window LIMIT ?"
        db.execute(
            "INSERT INTO counts SELECT tag, state, count(*) FROM reports "
            f"WHERE number IN ({oldest}) GROUP BY tag, state "
            "ON CONFLICT (tag, state) DO UPDATE SET reports = reports + excluded.reports",
            (tag, over),
        )
        db.execute(
            "UPDATE surveys SET forgotten = max(coalesce(forgotten, -1), "
            f"(SELECT max(window) FROM reports WHERE number IN ({oldest}))) WHERE tag = ?",
            (tag, over, tag),
        )
        db.execute(f"DELETE FROM reports WHERE number IN ({oldest})", (tag, over))

    def claim(self, number: int) -> Entry | None:
        """The report as it is to be sent now, marked as sent; None: it is not to be sent (any more).

        Called when the gateway was reached. A report that a gateway may have stored keeps its id.
        """
        now_ms = self._clock()
        with self._transaction() as db:
            row = db.execute(
                "SELECT id, report, round, sent, end_ms FROM reports WHERE number = ? AND state = ?", (number, WAITING)
            ).fetchone()
            if row is None:
                return None
            identity, report, round_number, sent, end_ms = row
            age_ms = now_ms - _time_ms(identity)
            if end_ms is not None and now_ms >= end_ms:
                _finish(db, number, _unsent_state(sent))
                return None
            if sent > 0 and age_ms >= OLD_MS:
                _finish(db, number, GIVEN_UP)
                return None
            if sent <= 0 and not -EARLY_MS < age_ms < RENEW_MS:
                identity = new_request_id(now_ms)
            db.execute("UPDATE reports SET sent = max(sent, 0) + 1, id = ? WHERE number = ?", (identity, number))
        return Entry(number, identity, report, round_number)

    def take_back(self, number: int) -> None:
        """One attempt to send a report was answered, and stored nothing."""
        with self._transaction() as db:
            db.execute(
                "UPDATE reports SET sent = CASE WHEN sent > 1 THEN sent - 1 ELSE -1 END WHERE number = ? AND state = ?",
                (number, WAITING),
            )

    def sweep(self, name: str) -> int:
        """Settle the reports under a survey's name that are not to be sent any more; how many were given up."""
        now_ms = self._clock()
        with self._transaction() as db:
            rows = db.execute(
                "SELECT number, id, sent, end_ms FROM reports JOIN surveys USING (tag) WHERE name = ? AND state = ?",
                (name, WAITING),
            ).fetchall()
            given_up = 0
            for number, identity, sent, end_ms in rows:
                over = end_ms is not None and now_ms >= end_ms
                if over or (sent > 0 and now_ms - _time_ms(identity) >= OLD_MS):
                    _finish(db, number, _unsent_state(sent))
                    given_up += int(sent > 0)
        return given_up

    def finish(self, number: int, state: str) -> None:
        """What the gateway answered, for good."""
        with self._transaction() as db:
            if db.execute("SELECT 1 FROM reports WHERE number = ? AND state = ?", (number, WAITING)).fetchone():
                _finish(db, number, state)

    def waiting(self, tag: str) -> list[int]:
        """The reports that wait, oldest first."""
        with self._transaction() as db:
            rows = db.execute(
                "SELECT number FROM reports WHERE tag = ? AND state = ? ORDER BY number", (tag, WAITING)
            ).fetchall()
        return [row[0] for row in rows]

    def count_waiting(self, name: str) -> int:
        """How many reports wait under a survey's name, whatever its definition was."""
        with self._transaction() as db:
            query = "SELECT count(*) FROM reports JOIN surveys USING (tag) WHERE name = ? AND state = ?"
            return int(db.execute(query, (name, WAITING)).fetchone()[0])

    def pause(self, tag: str) -> tuple[int, int]:
        """How often in a row the gateway was not reached, and when to try again, in milliseconds."""
        with self._transaction() as db:
            tries, next_ms = db.execute("SELECT tries, next_ms FROM surveys WHERE tag = ?", (tag,)).fetchone()
        return tries, next_ms

    def set_pause(self, tag: str, tries: int, next_ms: int) -> None:
        """Remember it, over restarts too."""
        with self._transaction() as db:
            db.execute("UPDATE surveys SET tries = ?, next_ms = ? WHERE tag = ?", (tries, next_ms, tag))

    def spent(self, name: str) -> float:
        """Epsilon spent under a survey's name, whatever its definition was."""
        with self._transaction() as db:
            return self._spent(db, name)

    def _spent(self, db: sqlite3.Connection, name: str) -> float:
        row = db.execute("SELECT total(charges * epsilon) FROM surveys WHERE name = ?", (name,)).fetchone()
        return float(row[0])

    def accounts(self) -> list[Account]:
        """What was spent where."""
        with self._transaction() as db:
            surveys = db.execute(
                "SELECT name, tag, epsilon, charges * epsilon, answered > 0 FROM surveys ORDER BY name, rowid"
            ).fetchall()
            counted = db.execute(
                "SELECT tag, state, sum(reports) FROM (SELECT tag, state, count(*) AS reports FROM reports "
                "GROUP BY tag, state UNION ALL SELECT tag, state, reports FROM counts) GROUP BY tag, state"
            ).fetchall()
        return [
            Account(name, tag, epsilon, spent, bool(in_rounds), {state: n for each, state, n in counted if each == tag})
            for name, tag, epsilon, spent, in_rounds in surveys
        ]


def _unsent_state(sent: int) -> str:
    """What becomes of a report that is not to be sent any more."""
    return RETURNED if sent == 0 else REFUSED if sent < 0 else GIVEN_UP


def _finish(db: sqlite3.Connection, number: int, state: str) -> None:
    """The report's end; what was never sent is given back."""
    if state == RETURNED:
        db.execute(
            "UPDATE surveys SET charges = charges - (SELECT charges FROM reports WHERE number = ?) "
            "WHERE tag = (SELECT tag FROM reports WHERE number = ?)",
            (number, number),
        )
    db.execute(
        "UPDATE reports SET state = ?, report = NULL, charges = CASE WHEN ? THEN 0 ELSE charges END WHERE number = ?",
        (state, state == RETURNED, number),
    )


def _time_ms(identity: str) -> int:
    """The time in a UUIDv7."""
    return int(identity.replace("-", "")[:12], 16)
