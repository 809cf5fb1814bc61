"""One answer: a value never travels without its standard error and its 95% interval."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Self, TypeGuard

from hearsay.mechanisms.estimates.estimate import Z95
from hearsay.mechanisms.estimates.postprocess import WITH_INTERVAL


@dataclass(frozen=True, slots=True)
class Answer:
    """A value with its standard error; what is unknown is None, never NaN.

    `item` names a cell of a one-dimensional domain (label, integer, ends of a bin), `cell` one of several axes. Only a
    quantile has `band`, its asymmetric 95% band in the domain's units, `rank_stderr`, the standard error of the share
    at the value, and where there is a theorem its `rank_bound` on the error in rank. With `postprocess` the value went
    through that method and `raw` is the unbiased one, to which standard error and intervals belong. `simultaneous` are
    the ends of the interval that holds at 95% for all cells at once, where it was asked for. After some methods the
    interval is that of `value` (`owns_interval`). `note` says why an answer is another one than was asked for.
    A difference has `of`, the two values, `p_value` and, of many, `p_adjusted`; the largest change of a trend has the
    `window` that it begins in. A correlation says which `coefficient` it is: pearson or cramers-v.
    """

    query: str
    value: float | None
    stderr: float | None
    item: Any = None
    cell: Mapping[str, Any] | None = None
    band: tuple[float, float] | None = None
    rank_stderr: float | None = None
    rank_bound: float | None = None
    postprocess: str | None = None
    raw: float | None = None
    interval: tuple[float | None, float | None] | None = None
    simultaneous: tuple[float | None, float | None] | None = None
    note: str | None = None
    of: tuple[float | None, float | None] | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    window: str | None = None
    coefficient: str | None = None

    @property
    def unbiased(self) -> float | None:
        """The value that nothing was done to."""
        return self.value if self.postprocess is None else self.raw

    @property
    def owns_interval(self) -> bool:
        """Whether the interval is that of the processed value, not of the raw one."""
        return self.postprocess in WITH_INTERVAL

    @property
    def low(self) -> float | None:
        """Lower end of the 95% interval: value - 1.96 stderr, unclipped, or that of an interval of its own."""
        return self._away(-Z95) if self.interval is None else self.interval[0]

    @property
    def high(self) -> float | None:
        """Upper end of the 95% interval: value + 1.96 stderr, unclipped, or that of an interval of its own."""
        return self._away(Z95) if self.interval is None else self.interval[1]

    def together_with(self, wide: "Answer", z: float) -> Self:
        """With the interval that holds for all cells: that of the same answer at the level z, never a narrower one."""
        lows, highs = (self.low, wide.low, self._away(-z)), (self.high, wide.high, self._away(z))
        low, high = min(filter(_is_known, lows), default=None), max(filter(_is_known, highs), default=None)
        return replace(self, simultaneous=(low, high))

    def widened(self, factor: float) -> Self:
        """With a standard error and intervals that are so many times wider."""
        centre = self.unbiased

        def scaled(ends: tuple[float | None, float | None] | None) -> tuple[float | None, float | None] | None:
            if ends is None or centre is None:
                return ends
            low, high = (None if end is None else centre + factor * (end - centre) for end in ends)
            return low, high

        stderr = None if self.stderr is None else factor * self.stderr
        return replace(self, stderr=stderr, interval=scaled(self.interval), simultaneous=scaled(self.simultaneous))

    def _away(self, factor: float) -> float | None:
        return None if self.unbiased is None or self.stderr is None else self.unbiased + factor * self.stderr

    def table(self) -> dict[str, Any]:
        """The answer as JSON shows it; fields that do not apply are absent."""
        table: dict[str, Any] = {"query": self.query}
        if self.item is not None:
            table["item"] = self.item
        if self.cell is not None:
            table["cell"] = dict(self.cell)
        table |= {"value": self.value, "stderr": self.stderr, "low": self.low, "high": self.high}
        if self.postprocess is not None:
            table |= {"postprocess": self.postprocess, "raw": self.raw}
        if self.simultaneous is not None:
            table["simultaneous"] = list(self.simultaneous)
        if self.band is not None:
            table |= {"band": list(self.band), "rank_stderr": self.rank_stderr}
        if self.rank_bound is not None:
            table["rank_bound"] = self.rank_bound
        if self.note is not None:
            table["note"] = self.note
        if self.window is not None:
            table["window"] = self.window
        if self.of is not None or self.p_value is not None:
            table["p_value"] = self.p_value
        if self.p_adjusted is not None:
            table["p_adjusted"] = self.p_adjusted
        if self.of is not None:
            table["of"] = list(self.of)
        if self.coefficient is not None:
            table["coefficient"] = self.coefficient
        return table


def tables(answers: Iterable[Answer]) -> list[dict[str, Any]]:
    """Answers as JSON shows them."""
    return [answer.table() for answer in answers]


def in_whole_bins(answers: Iterable[Answer]) -> list[Answer]:
    """Answers about bins that reach beyond what was asked for: each has a note of what it covers."""
    return [replace(each, note="; ".join(filter(None, (each.note, _covered(each))))) for each in answers]


def _covered(answer: Answer) -> str:
    axes = {"": answer.item} if answer.cell is None else answer.cell
    stretches = (f"{name} {_ends(part)}".strip() for name, part in axes.items())
    return f"{answer.query} is answered for {', '.join(stretches)}: bins are taken whole"


def _ends(part: Any) -> str:
    """A cell's label or integer, or the ends of a stretch."""
    if not isinstance(part, list | tuple):
        return str(part)
    low, high = (f"{end:,.10g}" if isinstance(end, int | float) else str(end) for end in part)
    return low if low == high else f"{low} to {high}"


def known(number: float) -> float | None:
    """A plain float, or None where the number is not finite."""
    plain = float(number)
    return plain if isfinite(plain) else None


def _is_known(end: float | None) -> TypeGuard[float]:
    return end is not None
