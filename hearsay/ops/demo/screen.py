"""What the demo shows: a live table while devices report, and the final comparison."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.live import Live as LiveDisplay
from rich.table import Table

from hearsay.mechanisms.estimates.estimate import Z95
from hearsay.mechanisms.queries.answer import Answer
from hearsay.ops.demo.scene import Act
from hearsay.ops.terminal.present import console, show

PLAIN_EVERY_S = 5.0  # without a terminal, one line per survey so often
GROSS = 6.0  # standard errors: a correct program is this far off less than once in 10^8 answers


class Screen:
    """Redraws in place on a terminal, prints lines elsewhere."""

    def __init__(self, out: Console, display: LiveDisplay | None) -> None:
        self._out, self._display = out, display
        self._next_plain = 0.0

    def update(self, rows: list[list[Any]]) -> None:
        """Show how far every survey is: one row of (survey, published, folded, question, truth, answer)."""
        if self._display is not None:
            table = Table(title="reports are coming in", title_justify="left")
            for column in ("survey", "published", "folded", "question", "truth", "estimate", "95% interval"):
                table.add_column(column)
            for row in rows:
                table.add_row(*map(show, row))
            self._display.update(table)
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


def progress_row(act: Act, number: int, folded: int, truth: Answer, answer: Answer | None) -> list[Any]:
    """One survey's row of the live table; `number` is the round that it is in."""
    name = act.survey.name
    if act.survey.windows.in_rounds:
        name += f" (round {number} of {act.survey.mechanism.rounds})"
    row: list[Any] = [name, act.published, folded, act.headline, truth.value]
    return [*row, *((None, None) if answer is None else (answer.value, (answer.low, answer.high)))]


def comparison(act: Act, answers: list[Answer]) -> list[dict[str, Any]]:
    """Truth and estimate side by side, question by question."""
    rows = []
    for truth, answer in zip(act.truth(), answers, strict=True):
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
                "survey": act.survey.name,
                "mechanism": act.survey.mechanism.ID,
                "query": answer.query if answer.cell is None else f"{answer.query}: {show(dict(answer.cell))}",
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


def explain(rows: list[dict[str, Any]]) -> str:
    """How to read the final table."""
    covered = sum(row["holds"] for row in rows)
    return (
        f"{covered} of {len(rows)} intervals hold the truth; 19 in 20 should. `truth` is what the simulated people "
        "really hold and nobody ever sent: each sent one randomised report. `estimate` is what the reports say "
        "together, `low` and `high` are its 95% interval (for a quantile the band of values whose rank may be the one "
        "asked for). Ranges, points and tables are shares, quantiles and "
        "means are values, a tree has the mutual information of two attributes (in nats)."
    )


def _width(item: Any) -> float:
    """The width of a cell as answers name it: of a bin high - low, otherwise 1."""
    return float(item[1] - item[0]) if isinstance(item, list) else 1.0
