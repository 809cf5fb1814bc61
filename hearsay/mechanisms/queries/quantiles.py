"""Quantiles in the domain's own units, with a band that holds for the value and an error that holds for the rank."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hearsay.mechanisms.domains.domain import Axis
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Z95
from hearsay.mechanisms.queries.answer import Answer, known
from hearsay.mechanisms.queries.view import Shares


def quantiles(ranks: Sequence[str], shares: Shares) -> list[Answer]:
    """One answer for each rank, on the domain's only axis."""
    (axis,) = shares.domain.axes
    numbers = np.array([_rank(text) for text in ranks])
    found, bound = shares.estimate.quantiles(numbers), shares.estimate.rank_bound()
    answers = [
        replace(_answer(axis, text, int(cell), (int(first), int(last)), float(rank_stderr)), rank_bound=bound)
        for text, cell, first, last, rank_stderr in zip(ranks, *found, strict=True)
    ]
    if shares.method == "none":
        return answers
    cells = np.searchsorted(shares.rising, numbers).clip(max=axis.size - 1)
    return [
        replace(raw, value=_value(axis, cell), item=axis.item(cell), postprocess=shares.method, raw=raw.value)
        for raw, cell in zip(answers, cells.tolist(), strict=True)
    ]


def _answer(axis: Axis, rank: str, cell: int, ends: tuple[int, int], rank_stderr: float) -> Answer:
    value = _value(axis, cell)
    band = float(axis.units(ends[0])), float(axis.units(ends[1] + _is_continuous(axis)))
    # Symmetric, so that value +- 1.96 stderr covers the band whichever of its sides is the longer one.
    stderr = max(abs(value - band[0]), abs(band[1] - value)) / Z95
    return Answer(f"quantile {rank}", value, known(stderr), axis.item(cell), band=band, rank_stderr=known(rank_stderr))


def _value(axis: Axis, cell: int) -> float:
    """The quantile of a continuous value may lie anywhere in its bin: the middle, and the band takes whole bins."""
    return float(axis.units(cell + 0.5 if _is_continuous(axis) else cell))


def _is_continuous(axis: Axis) -> bool:
    return axis.low is not None


def _rank(text: str) -> float:
    try:
        rank = float(text)
    except ValueError:
        rank = float("nan")
    if not 0 < rank < 1:
        raise QueryError(f"quantile must be a number above 0 and below 1, got {text}")
    return rank
