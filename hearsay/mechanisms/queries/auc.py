"""Area under the ROC curve of a labelled score survey (Kulkarni 2.5.3, 7.1.2).

Every device holds a score and a label, both private, on a grid of two axes; the label's axis has two cells, the second
of which is positive. With H+ and H- the shares of the scores under either label,

    AUC = sum_i H+(i) [H-(below i) + H-(i)/2] / (sum H+ sum H-),

the chance that a positive device scores above a negative one, ties counting half.

Standard error by the delta method: the derivative with respect to the shares is a linear query, whose error the grid's
estimate knows exactly. Noise that H+ and H- share would bias their product; over runs with 64 and 256 scores the bias
stayed below a tenth of the standard error. Where a label's share cannot be told from 0, the interval is everything.
"""

from typing import Any, NamedTuple

import numpy as np

from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.cells import LABEL
from hearsay.mechanisms.estimates.estimate import Z95, Floats, Measured

NO_LABEL = "auc needs a grid of two axes, a score and a label with two cells"
LABELS = 2  # how many cells a label's axis has


class Linearised(NamedTuple):
    """The area, its derivative by the share of every cell, the shares of either label, and which axis has labels."""

    value: float
    slope: Floats
    totals: tuple[float, float]
    axis: int


def area_under_curve(estimate: Any) -> Measured:
    """AUC with its standard error, one of each."""
    value, slope, totals, axis = linearised(estimate)
    of_labels = np.stack([np.full(slope.shape[1], 1.0), np.zeros(slope.shape[1])])
    rows = np.stack([np.moveaxis(part, 0, axis).reshape(-1) for part in (slope, of_labels)])
    sums = estimate.sums(rows)
    stderr = sums.stderr[:1]
    if not np.isfinite(stderr).all():
        raise QueryError("auc needs more reports: its error is not known yet")
    unsure = min(totals) < Z95 * sums.stderr[1]  # whoever holds a label cannot be told from nobody
    if sums.low is None and not unsure:
        return Measured.plain(np.array([value]), stderr)
    low, high = (value + end[:1] - sums.value[:1] for end in sums.ends())
    if unsure:
        low, high = np.zeros(1), np.ones(1)
    return Measured(np.array([value]), stderr, low, high)


def area_sampling(estimate: Any) -> float:
    """n Var of the area if devices were drawn and told the truth: the mean square of its derivative."""
    _, slope, _, axis = linearised(estimate)
    return max(float(estimate.sums(np.moveaxis(slope**2, 0, axis).reshape(1, -1)).value[0]), 0.0)


def linearised(estimate: Any) -> Linearised:
    """The area and what the delta method needs."""
    axis = label_axis(estimate.domain)
    if axis is None:
        raise QueryError(NO_LABEL)
    if not np.isfinite(estimate.estimate).all():
        raise QueryError("auc needs a share for every cell, and the survey's strategy leaves some open")
    shares = np.moveaxis(estimate.estimate, axis, 0)
    negative, positive = shares
    below = np.cumsum(negative) - negative / 2
    above = positive.sum() - np.cumsum(positive) + positive / 2
    totals = float(negative.sum()), float(positive.sum())
    if min(totals) <= 0:
        raise QueryError("auc needs devices with either label, and the estimate has none with one of them")
    product = totals[0] * totals[1]
    value = float(positive @ below) / product
    slope = np.stack([above - value * totals[1], below - value * totals[0]]) / product
    return Linearised(value, slope, totals, axis)


def label_axis(domain: Domain) -> int | None:
    """The axis named `label`, or the only one with two cells; None where a domain has none."""
    axes = domain.axes if isinstance(domain, Cells) else ()
    named = [index for index, axis in enumerate(axes) if axis.name == LABEL and axis.size == LABELS]
    two_cells = [index for index, axis in enumerate(axes) if axis.size == LABELS]
    candidates = named or two_cells
    return candidates[0] if len(axes) == 2 and len(candidates) == 1 else None
