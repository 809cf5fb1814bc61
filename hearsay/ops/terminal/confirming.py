"""A question before what cannot be undone."""

import sys

import click


def confirm(question: str) -> None:
    """Go on if the answer is yes; where nobody can answer, say which option answers instead."""
    try:
        click.confirm(question, abort=True, err=True)
    except click.Abort as abort:
        if sys.stdin.isatty() or not isinstance(abort.__context__, EOFError):
            raise
        click.echo(err=True)
        raise click.UsageError("there is no terminal to ask: give --yes") from None
