"""`hearsay key`: keys of the gateway."""

import click

from hearsay.collector.store import api_keys
from hearsay.collector.store.api_keys import ApiKey
from hearsay.ops.config import Settings
from hearsay.ops.server.connection import open_registry
from hearsay.ops.terminal.lazy import HelpfulGroup
from hearsay.ops.terminal.options import SERVER, json_option, uses
from hearsay.ops.terminal.present import print_json, print_table


@click.group(cls=HelpfulGroup)
def command() -> None:
    """Add, list, revoke and rotate keys of the gateway.

    A key is shown once, when it is made: the server keeps its SHA-256 only. Gateways learn of a change within 5 s.
    """


@command.command()
@click.argument("name")
@click.option("--survey", metavar="NAME", help="The only survey that the key is valid for; without it, every survey.")
@json_option
@uses(*SERVER, "plugins")
def add(settings: Settings, name: str, survey: str | None, as_json: bool) -> None:
    """Make a key; NAME is a description of its owner."""
    _show(*api_keys.add(open_registry(settings), name, survey), as_json)


@command.command(name="list")
@json_option
@uses(*SERVER)
def list_keys(settings: Settings, as_json: bool) -> None:
    """List all keys, without their secret parts."""
    rows = [_row(key) for key in api_keys.every(open_registry(settings))]
    if as_json:
        print_json(rows)
    else:
        print_table("keys", ("id", "name", "survey", "created"), [list(row.values()) for row in rows])


@command.command()
@click.argument("identity", metavar="ID")
@json_option
@uses(*SERVER)
def revoke(settings: Settings, identity: str, as_json: bool) -> None:
    """Refuse a key from now on."""
    api_keys.revoke(open_registry(settings), identity)
    if as_json:
        print_json({"id": identity, "revoked": True})
    else:
        click.echo(f"key {identity} is revoked; gateways refuse it within 5 s")


@command.command()
@click.argument("identity", metavar="ID")
@json_option
@uses(*SERVER)
def rotate(settings: Settings, identity: str, as_json: bool) -> None:
    """Make another key of the same id, name and survey; the old one is refused from now on."""
    _show(*api_keys.rotate(open_registry(settings), identity), as_json)


def _row(key: ApiKey) -> dict[str, str | None]:
    return {"id": key.id, "name": key.name, "survey": key.survey, "created": key.created}


def _show(key: ApiKey, text: str, as_json: bool) -> None:
    if as_json:
        print_json({**_row(key), "key": text})
        return
    click.echo(text)
    click.echo(f"key {key.id} of {key.name}; it is not shown again; gateways take it within 5 s", err=True)
