"""`hearsay demo`: the whole pipeline on one machine, also in an empty folder."""

import shutil

import click

from hearsay.ops.config import Settings
from hearsay.ops.demo.play import play
from hearsay.ops.terminal.options import uses


@click.command()
@click.option("--stay", is_flag=True, help="Keep the pipeline running at the end, until interrupted.")
@uses("redis_url", "data_dir")
def command(settings: Settings, stay: bool) -> None:
    """Run the whole pipeline on simulated devices, and compare its answers with the truth.

    Starts a server, a collector, workers and an estimator on free ports, lets two million simulated devices report,
    and shows truth and estimate side by side: about a minute. Files go into `demo` under the data directory, which is
    emptied first. Exits with 1 if an answer is more than six standard errors off the truth.
    """
    directory = settings.data_dir.absolute() / "demo"
    shutil.rmtree(directory, ignore_errors=True)
    play(directory, settings.redis_url if settings.own_server else None, stay)
