"""One line of the bench table."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """A measured number with its target and its ceiling, all in the same unit.

    A rate should be high, a duration or a size (`at_most`) low. The ceiling is a number to compare with, mostly of a
    simpler operation: the server's own rate with the same bytes, or for an answer's age the estimator's period. It is
    no limit: the ratio of value to ceiling may be above 1.
    """

    what: str
    value: float
    unit: str
    target: float
    at_most: bool = False
    ceiling: float | None = None
    ceiling_name: str = ""
    # Of a rate: the least ratio of value to ceiling that is required as well as the target.
    ratio_target: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return None if self.ceiling is None else self.value / self.ceiling

    @property
    def holds(self) -> bool:
        reached = self.value <= self.target if self.at_most else self.value >= self.target
        return reached and (self.ratio_target is None or (self.ratio is not None and self.ratio >= self.ratio_target))

    @property
    def target_words(self) -> str:
        words = f"{'at most' if self.at_most else 'at least'} {readable(self.target)} {self.unit}"
        return words if self.ratio_target is None else f"{words}, {self.ratio_target:g} of the ceiling"

    def table(self) -> dict[str, Any]:
        """The row as JSON."""
        return {
            "what": self.what,
            "value": self.value,
            "unit": self.unit,
            "ceiling": self.ceiling,
            "ceiling_name": self.ceiling_name or None,
            "ratio": self.ratio,
            "target": self.target_words,
            "holds": self.holds,
            "note": self.note or None,
        }


def readable(number: float) -> str:
    """Three digits; large numbers in thousands and millions."""
    number = float(f"{number:.3g}")  # before the unit is chosen: 999.6 is 1 k
    for size, letter in ((1e6, " M"), (1e3, " k")):
        if abs(number) >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def best_seconds(*functions: Callable[[], object], repeats: int = 7) -> list[float]:
    """The shortest of several runs of each, taken in turns: what the machine can do when nothing else disturbs it."""
    best = [float("inf")] * len(functions)
    for _ in range(repeats):
        for position, function in enumerate(functions):
            started = time.perf_counter()
            function()
            best[position] = min(best[position], time.perf_counter() - started)
    return best
