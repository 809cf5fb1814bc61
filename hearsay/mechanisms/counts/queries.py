"""The mean of what devices counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.estimates.estimate import Averages
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.queries.example import Example
from hearsay.mechanisms.queries.query import Query, within
from hearsay.mechanisms.queries.view import View

_COUNTS = {"mechanism": "gm", "epsilon": 1.0, "domain": {"kind": "count", "max": 4}}


@dataclass(frozen=True)
class MeanOfCells(Query):
    """The mean over all reports."""

    NAME, GRAMMAR = "mean", "mean"
    HELP = "the mean of the values"
    NEEDS = Averages
    PREDICTED = "mean"
    OWN_UNIT = "whose value is in the domain's units"
    EXAMPLES = (Example(_COUNTS, [0, 1, 4, 3], "mean", [2.0]),)

    @classmethod
    def unsuited(cls, domain: Domain) -> str | None:
        if isinstance(domain, Cells) and domain.is_line and domain.axes[0].labels is None:
            return None
        return f"query mean needs a domain of numbers, this one is {domain.kind}"

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        return view.show(estimate.average(), [(None, None)])

    def sampling(self, estimate: Any, answers: Sequence[Answer]) -> Sequence[float]:
        (axis,), (mean,) = estimate.domain.axes, answers
        values = np.array([axis.units(index + axis.continuous / 2) for index in range(axis.size)])
        largest = within(mean.value, float(values.min()), float(values.max()))
        shares = estimate.points(np.arange(axis.size, dtype=np.int64)).value
        spread = float(np.nan_to_num(shares) @ (values - (mean.value or 0.0)) ** 2)
        return [min(max(spread, 0.0), largest) if np.isfinite(shares).all() else largest]
