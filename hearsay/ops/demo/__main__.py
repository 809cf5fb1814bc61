"""`python -m hearsay.ops.demo`: start the Procfile, let simulated devices report, compare answers with the truth."""

import json
import secrets
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import Any

import click

from hearsay.collector.store.registry import Registry
from hearsay.estimator.live import live
from hearsay.estimator.snapshots import directory as snapshot
from hearsay.ops.cli import ending
from hearsay.ops.demo.scene import Act, acts
from hearsay.ops.demo.screen import comparison, explain, progress_row, screen
from hearsay.ops.errors import CheckFailed, OperationError
from hearsay.ops.server.connection import open_registry
from hearsay.ops.server.processes import Processes
from hearsay.ops.terminal.present import console, print_table
from hearsay.ops.terminal.stopping import stopping

DIRECTORY = Path("var") / "demo"
FOLD_TIMEOUT_S = 60.0
COLUMNS = ("survey", "mechanism", "query", "truth", "estimate", "low", "high", "holds")


@click.command()
@click.option("--stay", is_flag=True, help="Keep the pipeline running at the end, until interrupted.")
def demo(stay: bool) -> None:
    """Run the whole pipeline on simulated devices and compare its answers with the truth."""
    directory = DIRECTORY.absolute()
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    players = acts()
    click.echo("starting server, collector, workers and estimator")
    with stopping() as stop, Processes(directory, f"demo-{secrets.token_hex(3)}") as processes:
        registry = open_registry(processes.settings)
        click.echo(f"while the demo runs: {processes.address}/api/surveys and {processes.address}/metrics")
        for act in players:
            registry.add(act.survey)
        try:
            _report(players, processes, registry, stop)
            rows = _results(players, processes, registry)
            _finish(rows, directory)
            if stay:
                click.echo(f"still running at {processes.address}/api/surveys until interrupted")
                stop.wait()
        finally:
            for act in players:  # on a server of the user's own nothing may be left behind
                registry.delete(act.survey.name)
    if any(row["gross"] for row in rows):
        raise CheckFailed("an estimate is more than six standard errors off the truth")


def _report(players: list[Act], processes: Processes, registry: Registry, stop: threading.Event) -> None:
    """Let the devices report and show how the answers come closer."""
    threads = [act.start(lambda: open_registry(processes.settings), stop) for act in players]
    truths = {act.survey.name: act.truth()[0] for act in players}
    deadline = None
    with screen() as shown:
        while True:
            if stop.wait(0.5):
                raise KeyboardInterrupt
            processes.check()
            rows, missing = [], 0
            for act in players:
                if act.error is not None:
                    raise act.error
                current = live(registry.get(act.survey.name))
                folded = act.survey.mechanism.reports(current.state)
                found = act.ask(current.estimate())[0] if folded >= act.survey.minimum_reports else None
                rows.append(progress_row(act, folded, truths[act.survey.name], found))
                missing += len(act.people) - folded
            shown.update(rows)
            if missing == 0:
                break
            if not any(thread.is_alive() for thread in threads):
                deadline = deadline or time.monotonic() + FOLD_TIMEOUT_S
                if time.monotonic() > deadline:
                    raise OperationError(f"{missing} reports were not folded in time; the log: {processes.log}")


def _results(players: list[Act], processes: Processes, registry: Registry) -> list[dict[str, Any]]:
    """The answers from the files that the estimator wrote, where there is one for all; from the server for windows."""
    rows = []
    for act in players:
        if act.survey.every is None:
            estimate = _final_snapshot(act, processes).estimate()
        else:
            estimate = live(registry.get(act.survey.name)).estimate()
        rows += comparison(act, act.ask(estimate))
    return rows


def _final_snapshot(act: Act, processes: Processes) -> snapshot.Snapshot:
    deadline = time.monotonic() + FOLD_TIMEOUT_S
    directory = processes.settings.snapshots_dir / act.survey.name / "all"
    while time.monotonic() < deadline:
        processes.check()
        if directory.exists():
            found = snapshot.load(directory)
            if found.metadata["reports"] == len(act.people):
                return found
        time.sleep(0.2)
    raise OperationError(f"no complete snapshot of {act.survey.name} was written in time; the log: {processes.log}")


def _finish(rows: list[dict[str, Any]], directory: Path) -> None:
    print_table("truth and estimate", COLUMNS, [[row[column] for column in COLUMNS] for row in rows])
    console().print(explain(rows), markup=False)
    (directory / "summary.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    click.echo(f"files: {directory}/ (summary.json, snapshots/, pipeline.log); ask further:")
    click.echo(f"  .venv/bin/hearsay query --snapshot {DIRECTORY}/snapshots/session-minutes/all quantile 0.25 0.75")


if __name__ == "__main__":
    sys.exit(ending(lambda: demo.main(standalone_mode=False)))
