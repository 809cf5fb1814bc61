"""What is counted of answers: how often their intervals hold the truth, and their squared error in standard errors.

An answer that says it knows nothing (standard error infinite, interval the whole range) is counted apart: it is none.
Where an interval is the whole range because of what was drawn, it counts, but tells nothing: leaving it
out would pick the surveys in which something seemed to be known.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms import Mechanism, build
from hearsay.mechanisms.estimates.estimate import Floats, Measured
from hearsay.mechanisms.estimates.simultaneous import critical_value, together

Flags = NDArray[np.bool_]
_ROUNDING = 1e-9
_LARGEST = 1e3  # standard errors: a larger error counts as this


@dataclass
class Tally:
    """What was seen of one kind of answer."""

    asked: int = 0
    answered: int = 0
    telling: int = 0
    covered: int = 0
    squared: float = 0.0
    scored: int = 0
    runs: int = 0

    def add(self, answers: Measured, truth: Floats, whole: tuple[float, float] | None = None) -> None:
        """Answers of one run; those whose standard error is infinite know nothing."""
        low, high = answers.ends()
        measured = np.isfinite(answers.stderr)
        known, narrow = measured, measured
        if whole is not None:
            known = ~np.isposinf(answers.stderr)
            narrow = (low > whole[0] + _ROUNDING) | (high < whole[1] - _ROUNDING)
        self.count(known, narrow, (low <= truth + _ROUNDING) & (truth <= high + _ROUNDING))
        off = (answers.value - truth)[measured] / np.maximum(answers.stderr[measured], _ROUNDING)
        self.squared += float((np.minimum(np.abs(off), _LARGEST) ** 2).sum())
        self.scored += off.size

    def count(self, known: Flags, telling: Flags, holds: Flags) -> None:
        """Answers of one run: which are any, which are narrower than the whole range, which hold the truth."""
        self.asked += known.size
        self.answered += int(known.sum())
        self.telling += int((known & telling).sum())
        self.covered += int((holds & known).sum())

    def merge(self, other: "Tally") -> None:
        """Of another setting."""
        self.asked += other.asked
        self.answered += other.answered
        self.telling += other.telling
        self.covered += other.covered
        self.squared += other.squared
        self.scored += other.scored
        self.runs += other.runs if other.answered else 0

    @property
    def coverage(self) -> float:
        return self.covered / max(self.answered, 1)

    @property
    def z2(self) -> float:
        return self.squared / max(self.scored, 1)


class Setting(Protocol):
    """What every case says of itself."""

    @property
    def mechanism(self) -> str: ...
    @property
    def where(self) -> str:
        """The domain in words."""
        ...

    @property
    def data(self) -> str: ...
    @property
    def reports(self) -> int: ...
    @property
    def epsilon(self) -> float: ...
    def table(self) -> dict[str, Any]:
        """The mechanism as a survey has it."""
        ...


@dataclass
class Measurement:
    """One case, by kind."""

    case: Setting
    tallies: dict[str, Tally] = field(default_factory=dict)
    together: Tally = field(default_factory=Tally)  # intervals that are meant to hold for all cells of a run at once
    narrower: int = 0  # of these, how many are narrower than those of single cells

    def add_together(self, plain: Measured, at_level: Callable[[float], Measured], truth: Floats) -> None:
        """All cells of one run; `at_level(z)` gives their intervals at the level z."""
        z = critical_value(truth.size)
        low, high = together(plain, at_level(z), z)
        holds = ((low <= truth + _ROUNDING) & (truth <= high + _ROUNDING)) | ~np.isfinite(plain.stderr)
        least, most = plain.ends()
        self.narrower += int(((low > least) | (high < most)).sum())
        known = np.array([np.isfinite(plain.stderr).any()])
        self.together.runs += 1
        self.together.count(known, known, np.array([holds.all()]))


def planned(case: Setting) -> Mechanism:
    """The mechanism of a case, planned once for all data and numbers of reports."""
    return _built(json.dumps(case.table()))


@lru_cache(maxsize=64)
def _built(table: str) -> Mechanism:
    return build(json.loads(table))
