"""Simulated people who throw dice: shapes of their own, beside those that every domain has."""

import numpy as np
from numpy.typing import NDArray

LOADED = "loaded"


def loaded_throws(sides: int, count: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Throws of a die whose last side comes up as often as all the others together."""
    lower, last = generator.integers(0, sides - 1, count), generator.random(count) < 0.5
    return np.where(last, sides - 1, lower)
