"""What the demo shows: a live table while devices report, and the final comparison."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.live import Live as LiveDisplay
from rich.text import Text

from hearsay.mechanisms.estimates.estimate import Z95
from hearsay.mechanisms.queries.answer import Answer
from hearsay.ops.demo.scene import DemoSurvey
from hearsay.ops.terminal.answers import decimals_of, rounded
from hearsay.ops.terminal.layout import layout
from hearsay.ops.terminal.present import console, show

LIVE = ("survey", "reports", "question", "truth", "estimate", "95% interval")
COLUMNS = ("survey", "question", "truth", "estimate", "low", "high", "holds")
MISSED = 1 / 20  # of 95% intervals
SURE = 0.999  # of all demos have no more misses than the band that is named
PLAIN_EVERY_S = 5.0  # without a terminal, one line per survey so often
GROSS = 6.0  # standard errors: a correct program is this far off less than once in 10^8 answers


class Screen:
    """Redraws in place on a terminal, prints lines elsewhere."""

    def __init__(self, out: Console, display: LiveDisplay | None) -> None:
        self._out, self._display = out, display
        self._next_plain = 0.0

    def update(self, rows: list[list[Any]]) -> None:
        """Show how far every survey is: one row of (survey, published, folded, question, truth, estimate, ends)."""
        if self._display is not None:
            shown = [[row[0], show(row[2]), row[3], *_to_digits(row[4], row[5], row[6])] for row in rows]
            laid = layout(LIVE, shown, self._out.width)
            self._display.update(Text("\n".join(["reports are coming in", *laid.lines]), no_wrap=True), refresh=True)
        elif time.monotonic() >= self._next_plain:
            self._next_plain = time.monotonic() + PLAIN_EVERY_S
            for survey, published, folded, question, truth, value, interval in rows:
                self._out.print(
                    f"{survey}: {published:,} published, {folded:,} folded; {question}: truth {show(truth)}, "
                    f"estimate {show(value)}, 95% interval {show(interval)}"
                )


@contextmanager
def screen() -> Iterator[Screen]:
    """A screen for as long as devices report."""
    out = console()
    if out.is_terminal:
        with LiveDisplay(console=out, auto_refresh=False, transient=True) as display:
            yield Screen(out, display)
    else:
        yield Screen(out, None)


def progress_row(demo: DemoSurvey, number: int, folded: int, truth: Answer, answer: Answer | None) -> list[Any]:
    """One survey's row of the live table; `number` is the round that it is in."""
    name = demo.survey.name
    if demo.survey.windows.in_rounds:
        name += f" {number}/{demo.survey.mechanism.rounds}"
    row: list[Any] = [name, demo.published, folded, demo.headline, truth.value]
    return [*row, *((None, None) if answer is None else (answer.value, (answer.low, answer.high)))]


def comparison(demo: DemoSurvey, answers: list[Answer]) -> list[dict[str, Any]]:
    """Truth and estimate side by side, question by question."""
    rows = []
    for truth, answer in zip(demo.truth(), answers, strict=True):
        low, high = answer.band if answer.band is not None else (answer.low, answer.high)
        assert truth.value is not None
        assert answer.value is not None
        assert low is not None
        assert high is not None
        # Without a standard error (mutual information) the interval's width replaces it.
        stderr = (high - low) / (2 * Z95) if answer.stderr is None else answer.stderr
        off = abs(answer.value - truth.value)
        # A quantile of a finite domain changes in whole cells: one cell off is no failure.
        cell = 0.0 if answer.band is None else _width(answer.item)
        rows.append(
            {
                "survey": demo.survey.name,
                "mechanism": demo.survey.mechanism.ID,
                "query": answer.query
                if answer.cell is None
                else f"{answer.query.split()[0]}: {show(dict(answer.cell))}",
                "truth": truth.value,
                "estimate": answer.value,
                "stderr": stderr,
                "low": low,
                "high": high,
                "holds": low <= truth.value <= high,
                "gross": off > GROSS * stderr + cell,
            }
        )
    return rows


def table(rows: list[dict[str, Any]]) -> list[list[str]]:
    """The final comparison as people read it, each survey named once."""
    shown = []
    before = None
    for row in rows:
        digits = _digits(row)
        figures = [rounded(row[name], digits) for name in ("truth", "estimate", "low", "high")]
        survey = "" if row["survey"] == before else row["survey"]
        shown.append([survey, row["query"], *figures, "yes" if row["holds"] else "no"])
        before = row["survey"]
    return shown


def _digits(row: dict[str, Any]) -> int | None:
    """Decimals that the interval supports; more where truth and the end that it misses would look the same."""
    if all(float(row[name]).is_integer() for name in ("truth", "estimate", "low", "high")):
        return 0
    digits = decimals_of((row["high"] - row["low"]) / 2)
    while digits is not None and digits < 12 and not row["holds"]:
        if rounded(row["truth"], digits) not in (rounded(row["low"], digits), rounded(row["high"], digits)):
            break
        digits += 1
    return digits


def _to_digits(truth: float | None, value: float | None, ends: tuple[float, float] | None) -> list[str]:
    """Truth, estimate and interval of the live table."""
    if ends is None or ends[0] is None or ends[1] is None:
        return [show(truth), show(value), "-"]
    digits = decimals_of((ends[1] - ends[0]) / 2)
    return [rounded(truth, digits), rounded(value, digits), " to ".join(rounded(end, digits) for end in ends)]


def most_by_chance(intervals: int) -> int:
    """The most misses among so many 95% intervals that chance explains: fewer than one demo in 1,000 has more."""
    chance, misses = (1 - MISSED) ** intervals, 0
    total = chance
    while total < SURE:
        misses += 1
        chance *= (intervals - misses + 1) / misses * MISSED / (1 - MISSED)
        total += chance
    return misses


def verdict(rows: list[dict[str, Any]]) -> str:
    """How many intervals miss, and whether chance explains it."""
    missed, most = sum(not row["holds"] for row in rows), most_by_chance(len(rows))
    words = f"Misses are expected: about 1 in 20, here {missed} of {len(rows)}"
    if missed <= most:
        return f"{words}; chance alone gives 0 to {most}."
    return f"{words}, more than the 0 to {most} that chance alone gives: something is wrong."


def explain(rows: list[dict[str, Any]]) -> str:
    """How to read the final table."""
    return (
        f"{verdict(rows)} `truth` is what the simulated people really hold and nobody ever sent: each sent one "
        "randomised report, or one per round. `estimate` is what the reports say together, `low` and `high` are its "
        "95% interval (for a quantile the band of values whose rank may be the one asked for). Ranges, points and "
        "tables are shares, quantiles and means are values."
    )


def _width(item: Any) -> float:
    """The width of a cell as answers name it: of a bin high - low, otherwise 1."""
    return float(item[1] - item[0]) if isinstance(item, list) else 1.0
