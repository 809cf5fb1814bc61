"""What the cells of a file's column are: numbers between two ends, or labels from a list."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Numbers:
    """Numbers from low to high. `ordered`: the next lower number also means less, which a code or a key does not."""

    low: float
    high: float
    ordered: bool = True


@dataclass(frozen=True)
class Labels:
    """One of these texts."""

    texts: tuple[str, ...]


ColumnCells = Numbers | Labels | None  # None: any text


class Coded(Sequence[Any]):
    """A column of labels as numbers of a list; a text that is not on the list has number -1 and is None."""

    def __init__(self, codes: NDArray[np.int64], texts: tuple[str, ...]) -> None:
        self.codes, self.texts = codes, texts

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: Any) -> Any:
        code = int(self.codes[row])
        return None if code < 0 else self.texts[code]

    def __iter__(self) -> Iterator[Any]:
        return (self[row] for row in range(len(self)))
