"""`hearsay produce` as a load test: its task, its words and its exit code."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from hearsay.collector.store.registry import Registered
from hearsay.ops.config import Settings
from hearsay.ops.errors import CheckFailed
from hearsay.ops.load import report
from hearsay.ops.load.process import Task
from hearsay.ops.load.ramp import highest, ramp
from hearsay.ops.load.run import Outcome, run
from hearsay.ops.load.verdict import SHORTEST_S, Limit
from hearsay.ops.server.connection import open_registry
from hearsay.ops.terminal.present import counted, notes, print_json, print_table
from hearsay.ops.terminal.progress import reports_bar
from hearsay.ops.terminal.stopping import Stop, stopping
from hearsay.ops.terminal.values_file import ValuesFile

_VERDICTS = {True: "held", False: "not held", None: "too short to judge"}


def load_task(
    survey: str,
    distribution: str,
    values: ValuesFile | None,
    seed: int | None,
    frame: int | None,
    replay: bool,
    rate: float | None,
    devices: int | None,
    registered: Registered,
    durable: str,
    first: int = 0,
) -> Task:
    """What is to be published; of a file of values, by default one report per row, from row `first` on."""
    file = values or ValuesFile(Path(), None, False)
    path = None if values is None else str(values.path)
    if path == "-":
        raise click.UsageError("a load test may read its values several times; give a file, not standard input")
    if devices is None:
        devices = 1 if values is None else len(values.read(registered.survey.mechanism.domain))
    how = (file.column, file.clamp, file.skip_bad)
    return Task(survey, distribution, path, *how, seed, frame, replay, rate, devices, durable, first)


def load_test(
    settings: Settings,
    task: Task,
    processes: int,
    is_ramp: bool,
    report_dir: Path | None,
    p99: float | None,
    as_json: bool,
    went_out: Callable[[int], None] = lambda reports: None,
) -> None:
    """Run it, print what was seen, write the report, whose folder is prepared.

    CheckFailed where `p99` is given and something is not held.
    """
    registry = open_registry(settings)
    with stopping() as stop:
        if is_ramp:
            outcomes = ramp(
                lambda step: run(settings, registry, step, processes, stop), task, stop, lambda seen: _say(seen, stop)
            )
            last = highest(outcomes)
            # Of the step that ended it; one that was stopped has none, and the steps before it keep their verdict.
            limited = None if outcomes[-1].held else outcomes[-1].limit
        else:
            with reports_bar(f"devices of {task.survey}", task.total) as bar:
                last = run(settings, registry, task, processes, stop, bar.advance)
            outcomes, limited = [last], last.limit
            went_out(last.reports)
        conclusion = _conclusion(last, limited, outcomes[-1].stopped) if is_ramp else ""
        if as_json:
            steps: dict[str, Any] = {}
            if is_ramp:  # beside the highest step that was held, whose table is on top
                steps = {"stopped": outcomes[-1].stopped, "steps": [each.table() for each in outcomes]}
            table = {} if last is None else last.table()
            named = {"limit": limited.part, "why": limited.why} if limited is not None else {}
            print_json({"survey": task.survey, **table, **named, **steps})
        elif is_ramp:
            print_table(f"{task.survey}: rates", report.COLUMNS, [report.row(each) for each in outcomes])
            click.echo(conclusion)
        elif last is not None:
            goes_on = processes == 1 and task.values is not None and not task.replay
            click.echo("\n".join(_words(task, last, stop, goes_on)))
        if report_dir is not None:
            report.write(report_dir, f"Load test of {task.survey}", outcomes, conclusion)
            notes().print(f"report in {report_dir}", markup=False)
    if p99 is not None:
        _check(outcomes[-1] if last is None and outcomes[-1].stopped else last, p99)


def _conclusion(last: Outcome | None, limited: Limit | None, stopped: bool) -> str:
    """What a ramp found; `last` is its highest step that was held."""
    highest_rate = "none" if last is None or last.asked_per_s is None else f"{last.asked_per_s:,.0f} reports/s"
    limit = "" if limited is None else f"; limit {limited.part}: {limited.why}"
    return f"highest rate held: {highest_rate}{limit}{'; stopped before the end' if stopped else ''}"


def _say(outcome: Outcome, stop: Stop) -> None:
    asked = "as fast as taken" if outcome.asked_per_s is None else f"{outcome.asked_per_s:,.0f} asked"
    verdict = "" if outcome.asked_per_s is None else f", {'stopped' if outcome.stopped else _VERDICTS[outcome.held]}"
    notes().print(f"{asked}: {outcome.committed_per_s:,.0f} reports/s committed{verdict}", markup=False)


def _words(task: Task, outcome: Outcome, stop: Stop, goes_on: bool) -> list[str]:
    on = "; the same command sends the others" if goes_on else ""
    stopped = f" (stopped; {counted(task.total, 'device')} were asked for{on})" if stop.is_set() else ""
    asked = "" if outcome.asked_per_s is None else f" of {outcome.asked_per_s:,.0f} asked"
    verdict = "" if outcome.asked_per_s is None or stopped else f"; {_VERDICTS[outcome.held]}"
    lines = [
        f"{counted(outcome.reports, 'report')} published to {task.survey} in {outcome.seconds:.1f} s "
        f"({outcome.per_s:,.0f} reports/s{asked}{verdict}){stopped}"
    ]
    for words, latencies, missing in (
        ("acknowledged after", outcome.acknowledged, None),
        ("committed after", outcome.committed, outcome.not_committed),
        ("in a snapshot after", outcome.visible, outcome.not_in_snapshot),
    ):
        times = latencies.table()
        if missing:
            where = words.removesuffix(" after")
            lines.append(f"  {f'not {where}':19} {missing:,} of {counted(outcome.reports, 'report')} at the test's end")
        if times is not None:
            lines.append(
                f"  {words:19} {times['p50']:.3f} s (median), {times['p99']:.3f} s (99%), {times['max']:.3f} s (most)"
            )
    if outcome.others:
        lines.append(
            f"  {counted(outcome.others, 'report')} of other writers came in meanwhile, so that times to commit are "
            "not known; use a survey of its own"
        )
    for cause, seconds in sorted(outcome.waits.items()):
        lines.append(f"  waited for {cause:8} {seconds:.1f} s")
    if outcome.limit is not None:
        lines.append(f"  limit {outcome.limit.part}: {outcome.limit.why}")
    return lines


def _check(outcome: Outcome | None, p99: float) -> None:
    """CheckFailed unless the rate was held and 99% were acknowledged in time."""
    if outcome is not None and outcome.stopped:
        raise CheckFailed("the load test was stopped before the end: nothing can be said of its rate")
    if outcome is not None and outcome.asked_per_s is not None and outcome.held is None:
        devices = math.ceil(SHORTEST_S * outcome.asked_per_s)
        raise CheckFailed(f"too short to judge the rate; use --devices {devices} or more")
    if outcome is None or (outcome.asked_per_s is not None and not outcome.held):
        why = "" if outcome is None or outcome.limit is None else f": limit {outcome.limit.part}, {outcome.limit.why}"
        raise CheckFailed(f"the rate was not held{why}")
    seen = outcome.acknowledged.quantile(0.99)
    if seen is None or seen > p99:
        raise CheckFailed(f"99% were acknowledged within {seen or 0:.3f} s, not within {p99:g} s")
