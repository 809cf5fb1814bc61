"""`--out DIR` of what writes a snapshot: a directory of its own, never one that holds something else."""

from pathlib import Path
from typing import Any

import click

_SNAPSHOT = "snapshot.json"


class OutDirectory(click.Path):
    """A new directory, an empty one, or one that holds a snapshot, which is written anew."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(str(value))
        super().convert(value, param, ctx)
        other = path.is_dir() and any(path.iterdir()) and not (path / _SNAPSHOT).exists()
        if path.absolute() == Path.cwd() or other:
            self.fail(f"{value} holds other files; name a directory of its own, such as snapshot", param, ctx)
        return path
