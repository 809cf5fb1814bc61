"""Some rows of a file, column by column."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from hearsay.mechanisms.domains.columns import Coded


@dataclass(frozen=True)
class Block:
    """Cells by the domain's column names. `lines` says where each row is; `named` how messages call each column."""

    columns: dict[str, Any]
    lines: Sequence[int]
    named: Mapping[str, str]
    blank_lines: int = 0  # skipped before or among its rows

    @property
    def rows(self) -> int:
        return len(self.lines)

    def without(self, rows: Sequence[int]) -> "Block":
        """The block without these rows."""
        kept = np.delete(np.arange(self.rows), np.asarray(rows, dtype=np.int64))
        columns = {name: _chosen(cells, kept) for name, cells in self.columns.items()}
        return replace(self, columns=columns, lines=[self.lines[row] for row in kept.tolist()])


def joined_blocks(blocks: Iterable[Block]) -> Iterator[Block]:
    """All rows in one block, if there are any."""
    every = list(blocks)
    if every:
        columns = {name: list(chain.from_iterable(block.columns[name] for block in every)) for name in every[0].columns}
        lines = list(chain.from_iterable(block.lines for block in every))
        yield Block(columns, lines, every[0].named, sum(block.blank_lines for block in every))


def _chosen(cells: Any, rows: Any) -> Any:
    if isinstance(cells, Coded):
        return Coded(cells.codes[rows], cells.texts)
    return cells[rows] if isinstance(cells, np.ndarray) else [cells[row] for row in rows.tolist()]
