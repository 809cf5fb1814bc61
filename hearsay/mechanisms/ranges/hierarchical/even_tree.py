"""Variances of ranges where all cells are filled alike: no array of the domain's size is made."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.ranges.hierarchical.tree import Tree
from hearsay.mechanisms.ranges.hierarchical.tree_variance import TreeVariance


@dataclass(frozen=True)
class _Prefixes:
    """What `TreeVariance.flat` has at an index, computed when it is asked for."""

    tree: Tree
    offsets: NDArray[np.int64]

    def __getitem__(self, index: NDArray[np.int64]) -> Floats:
        level = np.searchsorted(self.offsets, index, side="right") - 1
        spans = np.array(self.tree.spans[1:], dtype=np.int64)
        ends: Floats = np.minimum((index - self.offsets[level]) * spans[level], self.tree.size) / self.tree.size
        return ends


@dataclass(frozen=True)
class EvenTreeVariance(TreeVariance):
    """A tree's variances for prediction; `cumulative` is not looked at."""

    @cached_property
    def flat(self) -> Any:
        return _Prefixes(self.inference.tree, self.offsets)

    def edge_share(self, level: int) -> float:
        last = self.offsets[level - 1] + self.inference.tree.nodes[level]
        return float(self.flat[last] - self.flat[last - 1])
