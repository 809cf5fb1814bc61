"""The report of a load test: a table (`report.md`), the figures (`report.json`) and a picture (`report.png`)."""

import importlib.util
import json
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from hearsay.ops.errors import OperationError
from hearsay.ops.load.latencies import SHARES, Latencies
from hearsay.ops.load.run import Outcome

COLUMNS = ("asked/s", "sent/s", "committed/s", "held", "p50 s", "p99 s", "max s", "commit p99 s", "fresh s", "limit")
_NO_PICTURES = "pictures need matplotlib: pip install 'hearsay-ldp[experiments]'"
_SECOND = 1.0  # a point of the picture
_COLOURS = {"asked": "0.6", "acknowledged": "#1f5fa8", "committed": "#c4600a", "in a snapshot": "#3b7d23"}


def row(outcome: Outcome) -> list[Any]:
    """One line of the table."""
    times = outcome.acknowledged.table() or {}
    committed, fresh = outcome.committed.quantile(0.99), outcome.visible.quantile(0.99)
    return [
        "as fast as taken" if outcome.asked_per_s is None else f"{outcome.asked_per_s:,.0f}",
        f"{outcome.per_s:,.0f}",
        f"{outcome.committed_per_s:,.0f}",
        "" if outcome.asked_per_s is None else _held(outcome),
        *(_seconds(times.get(name)) for name in ("p50", "p99", "max")),
        _seconds(committed),
        _seconds(fresh),
        "" if outcome.limit is None else outcome.limit.part,
    ]


def _held(outcome: Outcome) -> str:
    return "stopped" if outcome.stopped else {True: "yes", False: "no", None: "too short"}[outcome.held]


def prepare(directory: Path) -> None:
    """Create the folder, and refuse what no report can be written to: before the test, which may take minutes."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        reason = "is no folder" if directory.exists() and not directory.is_dir() else error.strerror
        raise OperationError(f"--report {directory}: {reason}; name a folder that can be written to") from None
    if importlib.util.find_spec("matplotlib") is None:
        raise OperationError(_NO_PICTURES)


def write(directory: Path, title: str, outcomes: list[Outcome], conclusion: str = "") -> None:
    """All three files, into a folder that is prepared; `conclusion` is what a ramp found."""
    try:
        (directory / "report.json").write_text(json.dumps([each.table() for each in outcomes], indent=2), "utf-8")
        (directory / "report.md").write_text(_markdown(title, outcomes, conclusion), "utf-8")
    except OSError as error:
        raise OperationError(f"{directory}: {error.strerror}") from None
    _draw(directory / "report.png", title, outcomes)


def _markdown(title: str, outcomes: list[Outcome], conclusion: str) -> str:
    lines = [f"# {title}", "", *(f"| {' | '.join(cells)} |" for cells in (COLUMNS, ["---"] * len(COLUMNS)))]
    lines += [f"| {' | '.join(row(outcome))} |" for outcome in outcomes]
    if conclusion:
        lines += ["", f"{conclusion[0].upper()}{conclusion[1:]}."]
    # Of a step that was tried twice, the second time.
    for rate, limit in {each.asked_per_s: each.limit for each in outcomes if each.asked_per_s is not None}.items():
        if limit is not None:
            lines += ["", f"At {rate:,.0f} reports/s the limit was {limit.part}: {limit.why}."]
    lines += ["", "Times run from the moment a report was due. ![rates and times](report.png)", ""]
    return "\n".join(lines)


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.3f}"


def _draw(file: Path, title: str, outcomes: list[Outcome]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot, ticker

    # Of a step that was tried twice, the second time.
    steps = list({each.asked_per_s: each for each in outcomes if each.asked_per_s is not None}.values()) or outcomes
    figure, (above, below) = pyplot.subplots(2, 1, figsize=(8, 7), layout="constrained")
    if len(steps) > 1:
        _draw_steps(above, below, steps)
    else:
        _draw_run(above, below, steps[0])
    for axes in (above, below):
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0))  # beside the lines, not on them
        axes.grid(alpha=0.3)
    above.yaxis.set_major_formatter(ticker.EngFormatter(sep=" "))
    for which in (below.yaxis.set_major_formatter, below.yaxis.set_minor_formatter):
        which(ticker.FuncFormatter(lambda seconds, _: f"{seconds:g}"))
    if len(steps) > 1:
        for axes in (above, below):
            axes.xaxis.set_major_formatter(ticker.EngFormatter(sep=" "))
    figure.suptitle(title)
    figure.savefig(file, dpi=110)
    pyplot.close(figure)


def _draw_run(above: Any, below: Any, outcome: Outcome) -> None:
    """One rate: reports and times, second by second."""
    seconds = int(max(outcome.seconds, outcome.samples[-1].at_s if outcome.samples else 0.0)) + 1
    acknowledged = [0.0] * seconds
    by_second: list[list[Any]] = [[] for _ in range(seconds)]
    for batch in outcome.batches:
        acknowledged[min(int(batch.at_s), seconds - 1)] += batch.reports / _SECOND
        by_second[min(int(batch.at_s), seconds - 1)].append(batch)
    moments = [second + 0.5 for second in range(seconds)]
    if outcome.asked_per_s is not None:
        end = outcome.reports / outcome.asked_per_s
        above.plot([0, end], [outcome.asked_per_s] * 2, "--", color=_COLOURS["asked"], label="asked")
    above.plot(moments, acknowledged, color=_COLOURS["acknowledged"], label="acknowledged")
    for name in ("committed", "visible"):
        words = "committed" if name == "committed" else "in a snapshot"
        if any(getattr(sample, name) > 0 for sample in outcome.samples):
            above.plot(moments, _per_second(outcome, name, seconds), color=_COLOURS[words], label=words)
    above.set(ylabel="reports per second", ylim=(0, None))
    tables = [Latencies(batches).table() for batches in by_second]
    for name, style in (("p50", "-"), ("p99", "--"), ("max", ":")):
        shown = [(moment, table[name]) for moment, table in zip(moments, tables, strict=True) if table]
        below.plot(*zip(*shown, strict=True), style, marker=".", color=_COLOURS["acknowledged"], label=name)
    below.set(xlabel="seconds since the start", ylabel="seconds from due to acknowledged", yscale="log")


def _per_second(outcome: Outcome, name: str, seconds: int) -> list[float]:
    """How many more there were at the end of each second."""
    at_end = [0] * (seconds + 1)
    for sample in outcome.samples:
        for second in range(min(int(sample.at_s) + 1, seconds), seconds + 1):
            at_end[second] = max(at_end[second], getattr(sample, name))
    return [(after - before) / _SECOND for before, after in pairwise(at_end)]


def _draw_steps(above: Any, below: Any, steps: list[Outcome]) -> None:
    """Several rates: what was sent and committed of each, and how long it took."""
    asked = [each.asked_per_s or each.per_s for each in steps]
    above.plot(asked, asked, "--", color=_COLOURS["asked"], label="asked")
    above.plot(asked, [each.per_s for each in steps], "o-", color=_COLOURS["acknowledged"], label="acknowledged")
    above.plot(asked, [each.committed_per_s for each in steps], "s-", color=_COLOURS["committed"], label="committed")
    for each, rate in zip(steps, asked, strict=True):
        if not (each.held or each.stopped):
            above.annotate(f"not held: {each.limit.part if each.limit else ''}", (rate, each.committed_per_s),
                           textcoords="offset points", xytext=(-8, -14), ha="right")  # fmt: skip
    above.set(ylabel="reports per second", ylim=(0, None))
    for name in (*SHARES, "max"):
        times = [(each.acknowledged.table() or {}).get(name) for each in steps]
        below.plot(asked, times, "o-", label=name)
    below.set(xlabel="reports per second asked for", ylabel="seconds from due to acknowledged", yscale="log")
