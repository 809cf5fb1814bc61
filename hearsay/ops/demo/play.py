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
from hearsay.ops.demo.scene import DemoSurvey, demo_surveys
from hearsay.ops.demo.screen import COLUMNS, comparison, explain, most_by_chance, progress_row, screen, table
from hearsay.ops.errors import CheckFailed, OperationError
from hearsay.ops.server.processes import Pipeline
from hearsay.ops.terminal.present import console, counted, print_table
from hearsay.ops.terminal.stopping import stopping

FOLD_TIMEOUT_S = 60.0  # after the last report was published, until the answers have all of them


def play(directory: Path, redis_url: str | None = None, stay: bool = False) -> None:
    """Run the demo with its files in `directory`, on an embedded server unless one is named."""
    server = {} if redis_url is None else {"redis_url": redis_url}
    prefix = f"demo-{secrets.token_hex(3)}"  # on the user's own server, the demo must not touch other keys
    demos = demo_surveys()
    truth = directory / "truth"
    truth.mkdir(parents=True)
    for demo in demos:
        demo.write_truth(truth)
    click.echo("starting server, collector, workers and estimator")
    with (
        stopping() as stop,
        Pipeline(
            directory, estimator=True, outside=True, truth=truth, prefix=prefix, queue=prefix, **server
        ) as pipeline,
    ):
        registry = pipeline.registry()
        click.echo(f"the page, while the demo runs: {pipeline.address}/")
        for demo in demos:
            registry.add(demo.survey)
            survey = demo.survey
            click.echo(
                f"  {survey.name}: {counted(len(demo.people), 'device')}{_rounds(survey)}, {survey.mechanism.ID}, "
                f"epsilon {survey.epsilon:g}"
            )
        try:
            _let_devices_report(demos, pipeline, registry, stop)
            rows = _results(demos, pipeline, registry)
            _print_results(rows, directory)
            if stay:
                click.echo(f"still running until interrupted; the page: {pipeline.address}/")
                stop.wait()
        finally:
            for demo in demos:  # nothing may be left on the user's own server
                registry.delete(demo.survey.name)
    if redis_url is not None:
        _delete_keys(redis_url, prefix)
    if any(row["gross"] for row in rows):
        raise CheckFailed("an estimate is more than six standard errors off the truth")
    if sum(not row["holds"] for row in rows) > most_by_chance(len(rows)):
        raise CheckFailed("more intervals miss the truth than chance explains")


def _rounds(survey: Survey) -> str:
    """Why more reports come in than there are devices."""
    return f" in {survey.mechanism.rounds} rounds" if survey.windows.in_rounds else ""


def _delete_keys(redis_url: str, prefix: str) -> None:
    """Delete the keys that are left of the demo, such as heartbeats: all that begin with its random prefix."""
    servers = open_servers(redis_url)
    for node in servers.nodes():
        for key in node.keys(f"{prefix}:*"):
            node.do("UNLINK", key)
    servers.disconnect()


def _let_devices_report(demos: list[DemoSurvey], pipeline: Pipeline, registry: Registry, stop: threading.Event) -> None:
    """Let the devices report; show how the answers approach the truth, until all reports are folded."""
    threads = [demo.start(pipeline.registry, stop) for demo in demos]
    truths = {demo.survey.name: demo.truth()[0] for demo in demos}  # of the question that the live table shows
    deadline = None
    with screen() as shown:
        while True:
            if stop.wait(0.5):
                raise KeyboardInterrupt
            pipeline.check()
            rows, missing = [], 0
            for demo in demos:
                if demo.error is not None:
                    raise demo.error
                current = live(registry.get(demo.survey.name))
                folded = demo.survey.mechanism.reports(current.state)
                answer = demo.ask(current.estimate())[0] if folded >= demo.survey.minimum_reports else None
                round_number = len(current.survey.history) + 1
                rows.append(progress_row(demo, round_number, folded, truths[demo.survey.name], answer))
                missing += demo.expected - folded
            shown.update(rows)
            if missing == 0:
                break
            if not any(thread.is_alive() for thread in threads):
                deadline = deadline or time.monotonic() + FOLD_TIMEOUT_S
                if time.monotonic() > deadline:
                    raise OperationError(f"{missing} reports were not folded in time; the logs: {pipeline.directory}/")


def _results(demos: list[DemoSurvey], pipeline: Pipeline, registry: Registry) -> list[dict[str, Any]]:
    """Truth and final answers: from the estimator's snapshot, or from Redis if the survey has several windows."""
    rows = []
    for demo in demos:
        if not demo.survey.windows.may_begin_another(open=True):  # one window: its snapshot has all reports
            estimate = _final_snapshot(demo, pipeline).estimate()
        else:
            estimate = live(registry.get(demo.survey.name)).estimate()
        rows += comparison(demo, demo.ask(estimate))
    return rows


def _final_snapshot(demo: DemoSurvey, pipeline: Pipeline) -> loading.Snapshot:
    """Wait for the snapshot that has the reports of all devices."""
    deadline = time.monotonic() + FOLD_TIMEOUT_S
    directory = pipeline.snapshots / demo.survey.name / "all"
    while time.monotonic() < deadline:
        pipeline.check()
        if directory.exists():
            final = loading.load(directory)
            if final.metadata["reports"] == len(demo.people):
                return final
        time.sleep(0.2)
    raise OperationError(f"no complete snapshot of {demo.survey.name} came in time; the logs: {pipeline.directory}/")


def _print_results(rows: list[dict[str, Any]], directory: Path) -> None:
    """Print the final table and how to read it; write it as summary.json."""
    print_table("truth and estimate", COLUMNS, table(rows))
    console().print(explain(rows), markup=False)
    (directory / "summary.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    click.echo(f"files: {directory}/ (summary.json, snapshots/, logs); ask further:")
    click.echo(f"  hearsay query --snapshot {_short_path(directory)}/snapshots/session-minutes/all quantile 0.25 0.75")


def _short_path(directory: Path) -> Path:
    """The path relative to the current folder, if it lies inside it."""
    here = Path.cwd()
    return directory.relative_to(here) if directory.is_relative_to(here) else directory
