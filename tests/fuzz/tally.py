"""Runs one case after the other: what became of each, how much processor time it took, and what must not have been.

A case ends in an outcome: accepted, or refused by an error that is documented. Anything else that is raised is a
failure, and so is a case of more than 100 ms of processor time for which its target lists no reason.
"""

import gc
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

SLOW_S = 0.1
_COLLECT_EVERY = 5_000  # cases; the collector's pauses are nobody's case
_AGAIN = 2
_SHOWN = 300  # characters of a case
_LONGEST = 1_000  # characters of a refusal


@dataclass
class Tally:
    """What became of the cases of one target."""

    target: str
    cases: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    slow: Counter[str] = field(default_factory=Counter)  # why
    slowest_s: float = 0.0
    slowest: str = ""
    slowest_reason: str = ""
    failures: dict[str, str] = field(default_factory=dict)  # by kind and place: the first case of each

    def run(
        self,
        case: Any,
        execute: Callable[[], str],
        why_slow: Callable[[], str | None] = lambda: None,
        clock: Callable[[], float] = time.thread_time,
    ) -> str | None:
        """One case; its outcome, None where it failed."""
        if self.cases % _COLLECT_EVERY == 0:
            gc.collect()
        self.cases += 1
        outcome, took_s = self._timed(case, execute, clock)
        for _ in range(_AGAIN):  # what is done once in a process, such as an import, is no case's work
            if took_s > SLOW_S:
                outcome, again_s = self._timed(case, execute, clock)
                took_s = min(took_s, again_s)
        reason = why_slow() if took_s > SLOW_S else ""
        if took_s > SLOW_S:
            self.slow[reason or "no reason"] += 1
            if not reason:
                self.failures.setdefault(f"slow {self.outcomes.total()}", f"{took_s:.2f} s: {shown(case)}")
        if took_s > self.slowest_s:
            self.slowest_s, self.slowest, self.slowest_reason = took_s, shown(case)[:60], reason or ""
        self.outcomes[outcome or "FAILED"] += 1
        return outcome

    def _timed(self, case: Any, execute: Callable[[], str], clock: Callable[[], float]) -> tuple[str | None, float]:
        started = clock()
        try:
            return execute(), clock() - started
        except Exception as error:
            took_s = clock() - started
            place = traceback.extract_tb(error.__traceback__)[-1]
            kind = f"{type(error).__name__} in {place.filename.rsplit('/', 1)[-1]}:{place.lineno}"
            if kind not in self.failures:
                where = "".join(traceback.format_exception(error)[-6:])
                self.failures[kind] = f"{type(error).__name__}: {error}\n{where}\ncase: {shown(case)}"
            return None, took_s

    def row(self) -> dict[str, Any]:
        """As it travels from a test's process to the table."""
        return {
            "target": self.target,
            "cases": self.cases,
            "outcomes": dict(self.outcomes),
            "slow": dict(self.slow),
            "slowest": [self.slowest_s, self.slowest, self.slowest_reason],
        }

    def check(self) -> None:
        """Fails with the first case of every kind of failure."""
        assert not self.failures, f"{self.target}: {len(self.failures)} kinds of failure\n\n" + "\n\n".join(
            list(self.failures.values())[:10]
        )


@contextmanager
def undisturbed() -> Iterator[None]:
    """No pauses of the garbage collector inside a case."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def one_line(refusal: Exception, secret: str | None = None) -> str:
    """The outcome of a refusal, whose words fit on a line of a terminal's log and give no secret away."""
    said = str(refusal)
    assert said.isprintable(), repr(said[:_SHOWN])
    assert len(said) < _LONGEST, len(said)
    assert secret is None or secret not in said, said[:_SHOWN]
    return "refused"


def shown(case: Any) -> str:
    """The beginning of a case, on one line."""
    return (case if isinstance(case, str) else repr(case))[:_SHOWN]


def table(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Rows of several processes as one table in Markdown, a line a target."""
    lines = ["| target | cases | outcomes | over 100 ms, and why | slowest |", "|---|---|---|---|---|"]
    total: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        total.setdefault(row["target"], []).append(row)
    for target, parts in sorted(total.items()):
        outcomes, slow = Counter[str](), Counter[str]()
        for part in parts:
            outcomes.update(part["outcomes"])
            slow.update(part["slow"])
        slowest_s, _, reason = max(part["slowest"] for part in parts)
        lines.append(
            f"| {target} | {sum(part['cases'] for part in parts):,} | {_counts(outcomes)} | {_counts(slow) or 'none'} "
            f"| {slowest_s * 1_000:.0f} ms{f' ({reason})' if reason else ''} |"
        )
    lines.append(f"| all | {sum(row['cases'] for parts in total.values() for row in parts):,} | | | |")
    return lines


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counter.most_common())
