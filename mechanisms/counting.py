"""Exact integer counting of many small indices at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Below this ratio of indices to cells a full histogram costs more than scattered additions.
_SCATTER_RATIO = 16


def count_into(counts: NDArray[np.int64], indices: NDArray[Any]) -> None:
    """Add 1 to `counts` (one-dimensional) at every index, repeated indices included."""
    if indices.size * _SCATTER_RATIO < counts.size:
        np.add.at(counts, indices.astype(np.intp), 1)
    else:
        counts += np.bincount(indices.astype(np.intp, copy=False), minlength=counts.size)
