"""Shapes: named distributions over the cells of one axis, from which simulated people are drawn.

Each is a vector of probabilities, so that the truth is known exactly. `x` is the middle of a cell as a fraction of the
axis, between 0 and 1.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.errors import SpecificationError, one_of

Shares = NDArray[np.float64]


def _middles(size: int) -> Shares:
    return (np.arange(size) + 0.5) / size


def _cauchy(size: int) -> Shares:
    """Heavy tails around 0.4, scale 0.1: the dissertation's data for range queries (Kulkarni 5.5)."""
    return 1 / (1 + ((_middles(size) - 0.4) / 0.1) ** 2)


def _normal(size: int) -> Shares:
    """A bell around the middle, a sixth of the axis wide."""
    return np.exp(-0.5 * ((_middles(size) - 0.5) * 6) ** 2)


def _bimodal(size: int) -> Shares:
    """Two bells, at 0.25 and, half as high, at 0.75."""
    x = _middles(size)
    return np.exp(-0.5 * ((x - 0.25) * 12) ** 2) + 0.5 * np.exp(-0.5 * ((x - 0.75) * 12) ** 2)


def _uniform(size: int) -> Shares:
    return np.ones(size)


def _zipf(size: int) -> Shares:
    """The cell of rank r has weight 1/r."""
    return 1 / np.arange(1, size + 1)


def _geometric(size: int) -> Shares:
    """Each cell a factor below the one before; a tenth of the axis holds 63% of the whole."""
    return np.exp(-np.arange(size) / max(size / 10, 1))


def _point(size: int) -> Shares:
    """Everybody holds the same value, the middle one: the hardest case for quantiles."""
    return (np.arange(size) == size // 2).astype(np.float64)


_WEIGHTS: dict[str, Callable[[int], Shares]] = {
    "cauchy": _cauchy,
    "zipf": _zipf,
    "normal": _normal,
    "uniform": _uniform,
    "geometric": _geometric,
    "bimodal": _bimodal,
    "point": _point,
}
SHAPES = tuple(_WEIGHTS)


def shares(shape: str, size: int) -> Shares:
    """The probability of every cell of an axis."""
    if shape not in _WEIGHTS:
        raise SpecificationError(what="distribution", expected=f"one of {one_of(SHAPES, shape)}", got=repr(shape))
    weights = _WEIGHTS[shape](size)
    return weights / weights.sum()


@lru_cache(maxsize=8)
def _cumulative(shape: str, size: int) -> Shares:
    return np.cumsum(shares(shape, size))


def draw_cells(shape: str, size: int, count: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """The cells of so many people, drawn independently."""
    cumulative = _cumulative(shape, size)
    # Scaled by the last sum, which rounding leaves a little off 1, so that no draw is behind the last cell.
    positions = generator.random(count) * cumulative[-1]
    return np.searchsorted(cumulative, positions, side="right").astype(np.int64)
