"""Groups of commands: alone they show their help, and an unknown command is answered with the nearest ones.

The modules of a lazy group are imported only when one of its commands runs: `hearsay --help` stays quick.
"""

import importlib
import importlib.util
from typing import Any

import click

from hearsay.errors import nearest

_NAMED = 3  # commands that may have been meant


class HelpfulGroup(click.Group):
    """A group that shows its help where nothing is named, unless it does something of its own then."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not self.invoke_without_command and not ctx.resilient_parsing:  # a shell asks what may follow
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            near = [*self._in_groups(ctx, args[0]), *nearest(args[0], self.list_commands(ctx), cutoff=0.5)][:_NAMED]
            meant = f"; the nearest: {', '.join(near)}" if near else "."
            raise click.UsageError(f"No such command {args[0]!r}{meant}", ctx)
        return super().resolve_command(ctx, args)

    def _in_groups(self, ctx: click.Context, name: str) -> list[str]:
        """The commands of that name in the groups of this group: `survey show` where `show` was asked for."""
        groups = {each: self.get_command(ctx, each) for each in self.list_commands(ctx)}
        return [f"{each} {name}" for each, group in groups.items()
                if isinstance(group, click.Group) and name in group.list_commands(ctx)]  # fmt: skip


class LazyGroup(HelpfulGroup):
    """Knows its commands as name -> (module, summary); each module holds the click object `command`.

    A module that is not installed is a command that does not exist.
    """

    def __init__(self, *args: Any, commands_by_module: dict[str, tuple[str, str]], **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self._table = commands_by_module

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name, (module, _) in self._table.items() if _exists(module)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._table or not _exists(self._table[cmd_name][0]):
            return None
        command: click.Command = importlib.import_module(self._table[cmd_name][0]).command
        return command

    def summary(self, name: str) -> str:
        """The line that the group's help shows."""
        return self._table[name][1]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, self.summary(name)) for name in self.list_commands(ctx)]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # its package is missing
        return False
