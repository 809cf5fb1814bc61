"""The people of a file, for a fleet."""

from typing import Any

import numpy as np

from hearsay.mechanisms.domains.domain import Values


class Rows:
    """The people of a file, one after the other and then from the top again."""

    def __init__(self, values: Values, first: int = 0) -> None:
        self._values, self._next = values, first % len(values)

    def take(self, count: int) -> Any:
        """The values of the next people."""
        chosen = (self._next + np.arange(count)) % len(self._values)
        self._next = (self._next + count) % len(self._values)
        return self._values[chosen]
