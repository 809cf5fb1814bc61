"""How answers are shown: as shares or as numbers of reports, raw or after a post-processing method.

Standard errors and intervals belong to the raw values: processed values are biased, and no interval around them is
known to hold. Methods `WITH_INTERVAL` have intervals of their own.
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
    """How the answers to the question `text` are shown.

    `method` is the post-processing method. `scale` multiplies shares: 1, or the number of reports to show counts.
    `note` says why another method was used than the one asked for.
    """

    text: str
    method: str = "none"
    scale: float = 1.0
    note: str | None = None

    def after_guard(self, estimate: Any) -> "View":
        """Where the data are not smooth, use `isotonic` instead of `smooth`, and note why."""
        if self.method != SMOOTH or estimate.not_smooth is None:
            return self
        return replace(self, method=ISOTONIC, note=estimate.not_smooth)

    def show_smooth(self, raw: Measured, smooth: Measured, names: Names) -> list[Answer]:
        """Smooth answers with their own intervals; raw values and their standard errors stand beside them."""
        answers = replace(self, method="none").show(smooth, names)
        values, errors = ((column * self.scale).tolist() for column in (raw.value, raw.stderr))
        return [
            replace(answer, postprocess=self.method, raw=known(value), stderr=known(error))
            for answer, value, error in zip(answers, values, errors, strict=True)
        ]

    def show(self, raw: Measured, names: Names, processed: Floats | None = None) -> list[Answer]:
        """One answer for each (item, cell) of `names`; with `processed`, its values beside the raw ones."""
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
                raw=known(raw_value),
                interval=interval,
                note=self.note,
            )
            for (item, cell), value, raw_value, error, interval in zip(names, shown, values, errors, ends, strict=True)
        ]
