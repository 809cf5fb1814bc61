"""The tables of `hearsay experiment calibration`: mechanisms, cases, and the number of runs of each case."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from hearsay.ops.experiments.calibration import attributes, coverage, grids, pairs, texts
from hearsay.ops.experiments.calibration import cases as cells
from hearsay.ops.experiments.calibration.tally import Measurement

_FEW_CELLS, _LARGE = 64, 1 << 14
_SLOW_CELLS = {
    "hierarchical": 10,
    "flat": 2,
    "haar": 2,
    "rappor": 2,
}  # the number of runs is divided by this, except on domains of fewer than _FEW_CELLS
_AT_LARGE = 4  # and by this too on domains of at least _LARGE cells
_MORE_NUMBERS = 4  # times as many runs: a run has only one answer
_SLOW_ATTRIBUTES, _SLOW_GRIDS = 2, 5  # divisors of the number of runs, as above
_MANY_ATTRIBUTES, _AT_MANY = 16, 5  # from so many attributes on, the divisor is the second number instead


@dataclass(frozen=True)
class Family:
    """One table of the experiment."""

    name: str
    title: str
    mechanisms: tuple[str, ...]
    kinds: tuple[str, ...]
    unscored: str  # the kind of answer that is left out of the mean squared z: it has no standard error
    cases: Callable[[str, bool], Iterator[Any]]
    measure: Callable[[Any, int, int], Measurement]
    runs: Callable[[Any, int], int]
    caption: str


def _cell_runs(case: cells.Case, runs: int) -> int:
    if case.size < _FEW_CELLS:
        return runs
    fewer = _SLOW_CELLS.get(case.mechanism, 1) * (_AT_LARGE if case.size >= _LARGE else 1)
    return max(2, runs // fewer)


def _grid_runs(case: grids.GridCase, runs: int) -> int:
    return runs if case.size < _FEW_CELLS else max(2, runs // _SLOW_GRIDS)


def _pair_runs(case: pairs.PairCase, runs: int) -> int:
    return _MORE_NUMBERS * runs if case.mechanism in pairs.NUMBERS else runs


def _attribute_runs(case: attributes.AttributeCase, runs: int) -> int:
    return max(2, runs // (_AT_MANY if case.shape[0] >= _MANY_ATTRIBUTES else _SLOW_ATTRIBUTES))


FAMILIES = (
    Family(
        "cells",
        "Cells, ranges and quantiles: coverage of 95% intervals in percent, and mean squared z",
        cells.MECHANISMS,
        coverage.KINDS,
        "quantile",
        cells.cases,
        coverage.measure,
        _cell_runs,
        "heavy, rare, empty: the fullest cell, cells of 1-5, cells of nobody",
    ),
    Family(
        "key-value",
        "Key-value pairs and means: coverage of 95% intervals in percent, and mean squared z",
        (*pairs.PAIRS, *pairs.NUMBERS),
        pairs.KINDS,
        "quantile",
        pairs.cases,
        pairs.measure,
        _pair_runs,
        "heavy, rare, empty: shares of keys; mean: of a key's values, or of all numbers; range: of a range of keys",
    ),
    Family(
        "marginals",
        "Marginals: coverage of 95% intervals in percent, and mean squared z",
        attributes.ATTRIBUTES,
        attributes.KINDS,
        "information",
        attributes.cases,
        attributes.measure,
        _attribute_runs,
        "cell, single: of a table of k attributes, of one; information: at least 90% are meant to hold",
    ),
    Family(
        "grids",
        "Grids: coverage of 95% intervals in percent, and mean squared z",
        grids.GRIDS,
        grids.KINDS,
        "quantile",
        grids.cases,
        grids.measure,
        _grid_runs,
        "heavy, rare, empty: the fullest cell, cells of 1-5, cells of nobody; range: boxes",
    ),
    Family(
        "texts",
        "Texts: coverage of 95% intervals in percent, and mean squared z",
        texts.TEXTS,
        texts.KINDS,
        "",
        texts.cases,
        texts.measure,
        lambda case, runs: runs,
        "heavy, rare, empty: the most frequent text, texts of 1-5 devices, texts of nobody",
    ),
)


def every_mechanism() -> tuple[str, ...]:
    """All names, family by family."""
    return tuple(dict.fromkeys(name for family in FAMILIES for name in family.mechanisms))
