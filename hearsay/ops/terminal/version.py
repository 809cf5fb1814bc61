"""`hearsay version`: what `hearsay --version` also says."""

import click

from hearsay.release import release


@click.command()
def command() -> None:
    """Print the version."""
    click.echo(f"hearsay {release()}")
