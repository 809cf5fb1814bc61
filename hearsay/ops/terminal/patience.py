"""Show a note with the reason while a survey takes long to check, so that it does not look like a hang."""

import threading
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from hearsay.collector.survey.survey import Survey, load
from hearsay.mechanisms import catalogue

PATIENCE_S = 2.0


def load_patiently(path: str | Path) -> Survey:
    """`load`, with a line on standard error where it takes longer than a moment."""
    with _saying(lambda: f"hearsay: checking {path} takes longer: {_why(path)}"):
        return load(path)


@contextmanager
def _saying(line: Callable[[], str]) -> Iterator[None]:
    timer = threading.Timer(PATIENCE_S, lambda: click.echo(line(), err=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _why(path: str | Path) -> str:
    """Why the survey's mechanism takes long to check, as its class states it."""
    with suppress(OSError, ValueError, RecursionError):
        name = tomllib.loads(Path(path).read_text(encoding="utf-8")).get("mechanism")
        if name == "auto":
            return "several mechanisms are compared"
        if isinstance(name, str) and name in catalogue.MECHANISMS:
            for mechanism in catalogue.classes(name):
                if mechanism.LONG_CHECK:
                    return mechanism.LONG_CHECK
    return "its domain is large, or this machine is busy"
