"""How answers are shown: as shares or numbers of reports, after a method, with intervals that hold together.

Standard errors and intervals always belong to the raw values: processed values are biased, and no interval around them
is known to hold.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hearsay.mechanisms.estimates.estimate import Floats, Measured
from hearsay.mechanisms.estimates.simultaneous import critical_value
from hearsay.mechanisms.queries.answer import Answer, known

CONFIDENCE, TOGETHER = 0.95, "sidak"  # of intervals that hold for all cells at once
Names = Iterable[tuple[Any, dict[str, Any] | None]]


@dataclass(frozen=True)
class View:
    """What was asked beyond the question itself."""

    text: str
    method: str = "none"
    scale: float = 1.0
    factor: float | None = None  # standard errors that make intervals hold together

    def show(self, raw: Measured, names: Names, processed: Floats | None = None) -> list[Answer]:
        """Answers to the question, one for each (item, cell)."""
        values, errors = ((column * self.scale).tolist() for column in (raw.value, raw.stderr))
        ends: Iterable[tuple[float | None, float | None] | None] = [None] * len(values)
        if raw.low is not None and raw.high is not None:
            ends = [
                (known(low), known(high))
                for low, high in zip((raw.low * self.scale).tolist(), (raw.high * self.scale).tolist(), strict=True)
            ]
        if processed is None:
            return [
                Answer(self.text, known(value), known(error), item, cell, factor=self.factor, interval=interval)
                for (item, cell), value, error, interval in zip(names, values, errors, ends, strict=True)
            ]
        shown = (processed * self.scale).tolist()
        return [
            Answer(
                self.text,
                known(value),
                known(error),
                item,
                cell,
                factor=self.factor,
                postprocess=self.method,
                raw=known(was),
                interval=interval,
            )
            for (item, cell), value, was, error, interval in zip(names, shown, values, errors, ends, strict=True)
        ]


def factor_for(cells: int) -> float:
    """How many standard errors make intervals that hold for so many cells at once."""
    return critical_value(cells, CONFIDENCE, TOGETHER)
