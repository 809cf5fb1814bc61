"""`hearsay survey shards`: more shards for a survey, or fewer."""

import click

from hearsay.collector.growth import set_shards
from hearsay.ops.config import Settings
from hearsay.ops.server.connection import open_registry
from hearsay.ops.terminal.options import SERVER, json_option, uses
from hearsay.ops.terminal.present import counted, print_json


@click.command("shards")
@click.argument("name")
@click.argument("number", type=int)
@json_option
@uses(*SERVER, "plugins")
def shards(settings: Settings, name: str, number: int, as_json: bool) -> None:
    """Give a survey more shards or fewer, while reports come in.

    Writers use the new shards within five seconds, requests of a gateway after an hour: a repeated request must reach
    the shard that has it. Retired shards accept no new writers; their reports are folded and still count. On a cluster
    each of N shards is in its own N-th part of the slots; choose a multiple of the number of masters.
    """
    registered = set_shards(open_registry(settings), name, number)
    active, retired = (list(each) for each in (registered.registration.active, registered.registration.retired))
    if as_json:
        print_json({"survey": name, "active": active, "retired": retired})
        return
    words = f", {counted(len(retired), 'retired one')} still count" if retired else ""
    click.echo(f"survey {name}: {counted(len(active), 'active shard')}{words}")
