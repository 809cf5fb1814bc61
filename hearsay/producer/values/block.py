"""Some rows of a file, column by column."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Block:
    """Cells by the domain's column names. `place(row, column)` says where in the file a cell is, in words."""

    columns: dict[str, Any]
    rows: int
    place: Callable[[int, str], str]
    blank_lines: int = 0  # skipped before or among its rows
