"""A group of commands whose modules are imported only when one of them runs: `hearsay --help` stays quick."""

import importlib
import importlib.util
from typing import Any

import click


class LazyGroup(click.Group):
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
