"""Mutual information of two attributes, in nats, with an interval that knows how noisy the table is.

I = sum P log(P/(p q')), of the table projected to probabilities; its interval is that of module `dependence`, and
covers at least 90%.
"""

from dataclasses import dataclass

import numpy as np

from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.marginals.analyses.association import Association, associate
from hearsay.mechanisms.marginals.analyses.dependence import interval
from hearsay.mechanisms.marginals.table import Table


@dataclass(frozen=True)
class Information:
    """Mutual information and its 95% interval, with the test that decides about 0."""

    value: float
    low: float
    high: float
    test: Association


def mutual_information(tables: Floats) -> Floats:
    """I of probability tables, shape (..., rows, columns)."""
    p, q = tables.sum(axis=-1, keepdims=True), tables.sum(axis=-2, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(tables > 0, tables * np.log(tables / (p * q)), 0.0)
    return np.maximum(parts.sum(axis=(-1, -2)), 0.0)


def measured_information(table: Table) -> Information:
    """I of a measured table of two attributes, with its interval."""
    if len(table.shape) != 2:
        raise QueryError(f"mutual information needs two attributes, got {len(table.shape)}")
    value, test = float(mutual_information(table.projected.reshape(table.shape))), associate(table)
    return Information(value, *interval(table, mutual_information, value, test), test)
