"""`hearsay validate`: survey files, one line each."""

from pathlib import Path
from typing import Any

import click

from hearsay.collector.describe.describe import remarks_on
from hearsay.collector.errors import SurveyError
from hearsay.ops.config import Settings
from hearsay.ops.exits import Exit
from hearsay.ops.terminal.options import json_option, uses
from hearsay.ops.terminal.patience import load_patiently
from hearsay.ops.terminal.present import print_json


@click.command()
@click.argument("files", metavar="SURVEY.toml...", nargs=-1, required=True, type=click.Path(path_type=Path))
@json_option
@uses("plugins")
def command(settings: Settings, files: tuple[Path, ...], as_json: bool) -> int:
    """Check survey files, one line each, without a server.

    Exits with 2 if a file is wrong. A remark on what is allowed but unwise is no failure.
    """
    rows = [_checked(path) for path in files]
    if as_json:
        print_json(rows)
    else:
        for row in rows:
            click.echo(f"{row['file']}: {_words(row)}", err=not row["valid"])
    return Exit.DONE if all(row["valid"] for row in rows) else Exit.BAD_INPUT


def _checked(path: Path) -> dict[str, Any]:
    try:
        survey = load_patiently(path)
    except SurveyError as error:
        return {"file": str(path), "valid": False, "error": str(error).removeprefix(f"survey file {path}: ")}
    return {
        "file": str(path),
        "valid": True,
        "name": survey.name,
        "mechanism": survey.mechanism.ID,
        "epsilon": survey.epsilon,
        "tag": survey.tag,
        "remarks": remarks_on(survey),
    }


def _words(row: dict[str, Any]) -> str:
    if not row["valid"]:
        return str(row["error"])
    remarks = "".join(f"; {remark}" for remark in row["remarks"])
    return f"valid, {row['name']}, {row['mechanism']}, epsilon {row['epsilon']:g}{remarks}"
