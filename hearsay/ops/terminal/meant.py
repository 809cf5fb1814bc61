"""A survey by its name or its file, and the file that was perhaps meant where the server has no survey of a name."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hearsay.collector.errors import ServerError, UnknownSurvey
from hearsay.collector.survey.survey import Survey
from hearsay.ops.config import Settings
from hearsay.ops.server.connection import open_registry
from hearsay.ops.terminal.patience import load_patiently


@contextmanager
def naming(path: Path, meant: str) -> Iterator[None]:
    """Where a survey cannot be had from the server and there is such a file, say how to name the file."""
    try:
        yield
    except (ServerError, UnknownSurvey) as error:
        if not os.path.exists(path):  # which also answers for a name that no file can have
            raise
        raise type(error)(f"{error}; did you mean {meant}?", **error.fields) from None


def survey_of(settings: Settings, name: str) -> Survey:
    """From a file if the name ends in .toml, else from the server."""
    if name.endswith(".toml"):
        return load_patiently(name)
    with naming(Path(f"{name}.toml"), f"{name}.toml"):
        return open_registry(settings).get(name).survey
