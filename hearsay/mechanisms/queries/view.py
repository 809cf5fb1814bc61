"""How answers are shown: as shares or numbers of reports, and after a method.

Standard errors and intervals always belong to the raw values: processed values are biased, and no interval around them
is known to hold.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hearsay.mechanisms.estimates.estimate import Floats, Measured
from hearsay.mechanisms.queries.answer import Answer, known

Names = Iterable[tuple[Any, dict[str, Any] | None]]


@dataclass(frozen=True)
class View:
    """What was asked beyond the question itself."""

    text: str
    method: str = "none"
    scale: float = 1.0

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
                Answer(self.text, known(value), known(error), item, cell, interval=interval)
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
                postprocess=self.method,
                raw=known(was),
                interval=interval,
            )
            for (item, cell), value, was, error, interval in zip(names, shown, values, errors, ends, strict=True)
        ]
