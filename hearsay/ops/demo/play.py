"""The demo from beginning to end: start the pipeline, let simulated devices report, compare answers with the truth."""

import json
import secrets
import threading
import time
from pathlib import Path
from typing import Any

import click

from hearsay.collector.store.connect import open_servers
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import Survey
from hearsay.estimator.readings import live
from hearsay.estimator.snapshots import loading
from hearsay.ops.demo.scene import Act, acts
from hearsay.ops.demo.screen import COLUMNS, comparison, explain, most_by_chance, progress_row, screen, table
from hearsay.ops.errors import CheckFailed, OperationError
from hearsay.ops.server.processes import Pipeline
from hearsay.ops.terminal.present import console, counted, print_table
from hearsay.ops.terminal.stopping import stopping

FOLD_TIMEOUT_S = 60.0


def play(directory: Path, redis_url: str | None = None, stay: bool = False) -> None:
    """Run the demo with its files in `directory`, on an embedded server unless one is named."""
    server = {} if redis_url is None else {"redis_url": redis_url}
    name = f"demo-{secrets.token_hex(3)}"  # on the user's own server, the demo must not touch other keys
    players = acts()
    truth = directory / "truth"
    truth.mkdir(parents=True)
    for act in players:
        act.write_truth(truth)
    click.echo("starting server, collector, workers and estimator")
    with (
        stopping() as stop,
        Pipeline(directory, estimator=True, outside=True, truth=truth, prefix=name, queue=name, **server) as pipeline,
    ):
        registry = pipeline.registry()
        click.echo(f"the page, while the demo runs: {pipeline.address}/")
        for act in players:
            registry.add(act.survey)
            survey = act.survey
            click.echo(
                f"  {survey.name}: {counted(len(act.people), 'device')}{_rounds(survey)}, {survey.mechanism.ID}, "
                f"epsilon {survey.epsilon:g}"
            )
        try:
            _report(players, pipeline, registry, stop)
            rows = _results(players, pipeline, registry)
            _finish(rows, directory)
            if stay:
                click.echo(f"still running until interrupted; the page: {pipeline.address}/")
                stop.wait()
        finally:
            for act in players:  # nothing may be left on the user's own server
                registry.delete(act.survey.name)
    if redis_url is not None:
        _sweep(redis_url, name)
    if any(row["gross"] for row in rows):
        raise CheckFailed("an estimate is more than six standard errors off the truth")
    if sum(not row["holds"] for row in rows) > most_by_chance(len(rows)):
        raise CheckFailed("more intervals miss the truth than chance explains")


def _rounds(survey: Survey) -> str:
    """Why more reports come in than there are devices."""
    return f" in {survey.mechanism.rounds} rounds" if survey.windows.in_rounds else ""


def _sweep(redis_url: str, prefix: str) -> None:
    """Remove what the demo's processes noted of themselves; its random prefix is in no other key."""
    servers = open_servers(redis_url)
    for node in servers.nodes():
        for key in node.client.scan_iter(match=f"{prefix}:*", count=1_000):
            node.client.unlink(key)
    servers.disconnect()


def _report(players: list[Act], pipeline: Pipeline, registry: Registry, stop: threading.Event) -> None:
    """Let the devices report and show how the answers come closer."""
    threads = [act.start(pipeline.registry, stop) for act in players]
    truths = {act.survey.name: act.truth()[0] for act in players}
    deadline = None
    with screen() as shown:
        while True:
            if stop.wait(0.5):
                raise KeyboardInterrupt
            pipeline.check()
            rows, missing = [], 0
            for act in players:
                if act.error is not None:
                    raise act.error
                current = live(registry.get(act.survey.name))
                folded = act.survey.mechanism.reports(current.state)
                answer = act.ask(current.estimate())[0] if folded >= act.survey.minimum_reports else None
                number = len(current.survey.history) + 1
                rows.append(progress_row(act, number, folded, truths[act.survey.name], answer))
                missing += act.expected - folded
            shown.update(rows)
            if missing == 0:
                break
            if not any(thread.is_alive() for thread in threads):
                deadline = deadline or time.monotonic() + FOLD_TIMEOUT_S
                if time.monotonic() > deadline:
                    raise OperationError(f"{missing} reports were not folded in time; the logs: {pipeline.directory}/")


def _results(players: list[Act], pipeline: Pipeline, registry: Registry) -> list[dict[str, Any]]:
    """Final answers: from the estimator's snapshot, or from the server if the survey has several windows."""
    rows = []
    for act in players:
        if not act.survey.windows.may_begin_another(open=True):  # one window: its snapshot has all reports
            estimate = _final_snapshot(act, pipeline).estimate()
        else:
            estimate = live(registry.get(act.survey.name)).estimate()
        rows += comparison(act, act.ask(estimate))
    return rows


def _final_snapshot(act: Act, pipeline: Pipeline) -> loading.Snapshot:
    deadline = time.monotonic() + FOLD_TIMEOUT_S
    directory = pipeline.snapshots / act.survey.name / "all"
    while time.monotonic() < deadline:
        pipeline.check()
        if directory.exists():
            final = loading.load(directory)
            if final.metadata["reports"] == len(act.people):
                return final
        time.sleep(0.2)
    raise OperationError(f"no complete snapshot of {act.survey.name} came in time; the logs: {pipeline.directory}/")


def _finish(rows: list[dict[str, Any]], directory: Path) -> None:
    print_table("truth and estimate", COLUMNS, table(rows))
    console().print(explain(rows), markup=False)
    (directory / "summary.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    click.echo(f"files: {directory}/ (summary.json, snapshots/, logs); ask further:")
    click.echo(f"  hearsay query --snapshot {_shown(directory)}/snapshots/session-minutes/all quantile 0.25 0.75")


def _shown(directory: Path) -> Path:
    """The path relative to the current folder, if it lies inside it."""
    here = Path.cwd()
    return directory.relative_to(here) if directory.is_relative_to(here) else directory
