"""How answers are shown: as shares or numbers of reports, and after a method.

Standard errors and intervals belong to the raw values: processed values are biased, and no interval around them is
known to hold. Only `smooth` has a band of its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from hearsay.mechanisms.estimates.estimate import Floats, Measured
from hearsay.mechanisms.estimates.postprocess import ISOTONIC, SMOOTH
from hearsay.mechanisms.queries.answer import Answer, known

Names = Iterable[tuple[Any, dict[str, Any] | None]]


@dataclass(frozen=True)
class View:
    """What was asked beyond the question itself."""

    text: str
    method: str = "none"
    scale: float = 1.0
    note: str | None = None

    def after_guard(self, estimate: Any) -> "View":
        """Isotonic answers in place of smooth ones, with the reason, where the data are not smooth."""
        if self.method != SMOOTH or estimate.not_smooth is None:
            return self
        return replace(self, method=ISOTONIC, note=estimate.not_smooth)

    def show_smooth(self, raw: Measured, smooth: Measured, names: Names) -> list[Answer]:
        """Smooth answers with their own band as interval; raw values and their standard errors stand beside them."""
        answers = replace(self, method="none").show(smooth, names)
        values, errors = ((column * self.scale).tolist() for column in (raw.value, raw.stderr))
        return [
            replace(answer, postprocess=self.method, raw=known(value), stderr=known(error))
            for answer, value, error in zip(answers, values, errors, strict=True)
        ]

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
                note=self.note,
            )
            for (item, cell), value, was, error, interval in zip(names, shown, values, errors, ends, strict=True)
        ]
