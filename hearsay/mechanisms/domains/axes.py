"""What domains made of named axes share, cells and attributes alike: columns, shape, and how values are read."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.axis import Axis
from hearsay.mechanisms.domains.columns import ColumnCells
from hearsay.mechanisms.domains.domain import Domain, Indices, check_columns, checked_indices, of_one_device


@dataclass(frozen=True)
class AxesDomain(Domain):
    """Named axes, each a finite list of cells. A value is one index, or a row of indices with one for each axis."""

    axes: tuple[Axis, ...]

    ORDERED: ClassVar[bool] = False  # whether ranges along its axes mean anything

    @property
    @abstractmethod
    def has_rows(self) -> bool:
        """Whether a value is a row of indices, not a single index."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(axis.name for axis in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many cells each axis has."""
        return tuple(axis.size for axis in self.axes)

    @property
    def size(self) -> int:
        """How many different values a device may have."""
        return prod(self.shape)

    def check(self, values: NDArray[Any] | Sequence[Any]) -> Indices:
        """Indices as a device gives them to a mechanism: shape (n,), or (n, axes) where a value is a row.

        Integers only, inside the domain: a value outside is an error here and never sent.
        """
        return checked_indices(values, self.shape, rows=self.has_rows)

    def read(self, columns: Mapping[str, Any]) -> Indices:
        check_columns(columns, self.columns)
        return self._joined([axis.encode(columns[axis.name]) for axis in self.axes])

    def cells_in(self, column: str) -> ColumnCells:
        return self.axes[self.columns.index(column)].cells_in(self.ORDERED)

    def one(self, value: Any) -> Indices:
        """One value in the domain's own units; a row as a mapping from names or as a sequence in the axes' order."""
        if not self.has_rows and not isinstance(value, Mapping):
            return self.read({self.columns[0]: [value]})
        return self.read(of_one_device(value, self.columns))

    def portable(self) -> list[dict[str, Any]]:
        return [axis.portable() for axis in self.axes]

    def people(self, draw: Callable[[int], Indices]) -> Indices:
        return self._joined([draw(axis.size) for axis in self.axes])

    def _joined(self, by_axis: list[Indices]) -> Indices:
        return np.stack(by_axis, axis=1) if self.has_rows else by_axis[0]
