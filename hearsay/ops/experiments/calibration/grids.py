"""Grids at the edges: cells and boxes, for data that lie along the grid's rows as those of `cases` on a line."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np

from hearsay.mechanisms import catalogue
from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.planning.drawn_states import draw_values
from hearsay.ops.experiments.calibration.cases import DATA, Case, crossed
from hearsay.ops.experiments.calibration.coverage import KINDS as KINDS_ON_A_LINE
from hearsay.ops.experiments.calibration.coverage import TOGETHER_UP_TO, cells_by_kind, points_at_level
from hearsay.ops.experiments.calibration.tally import Measurement, Tally, planned

# Mechanisms whose axes are all ordered: boxes mean something, and are estimated as such. A new one needs no line.
GRIDS = tuple(
    name
    for name in catalogue.shipped()
    if {"ordinal", "grid"} <= (kinds := {*catalogue.kinds(name)}) and "categorical" not in kinds
)
SHAPES = ((2, 3), (7, 5), (16, 16), (8, 6, 5))
KINDS = KINDS_ON_A_LINE[:4]
_BOXES = 12


@dataclass(frozen=True)
class GridCase:
    """One setting."""

    mechanism: str
    shape: tuple[int, ...]
    data: str
    reports: int
    epsilon: float

    @property
    def where(self) -> str:
        return " x ".join(map(str, self.shape)) + " cells"

    @property
    def size(self) -> int:
        return prod(self.shape)

    def table(self) -> dict[str, Any]:
        """The mechanism as a survey has it."""
        domain = {"kind": "grid", "sizes": list(self.shape)}
        return {"mechanism": self.mechanism, "epsilon": self.epsilon, "domain": domain}

    def holders(self) -> Indices:
        """How many hold each cell, as a tensor."""
        return Case(self.mechanism, self.size, self.data, self.reports, self.epsilon).holders().reshape(self.shape)


def cases(mechanism: str, quick: bool) -> Iterator[GridCase]:
    """All settings of a mechanism; the quick form has few of them."""
    for shape, name, n, epsilon in crossed(((7, 5),) if quick else SHAPES, ("zipf", "point"), quick):
        yield GridCase(mechanism, shape, name, n, epsilon)


def measure(case: GridCase, runs: int, seed: int) -> Measurement:
    """So many runs of one case."""
    mechanism, holders = planned(case), case.holders()
    generator = np.random.default_rng([seed, *case.shape, case.reports, int(case.epsilon * 10), DATA.index(case.data)])
    people = np.argwhere(holders).repeat(holders[holders > 0], axis=0)
    cells, true = cells_by_kind(holders.reshape(-1), generator), holders.reshape(-1) / case.reports
    low, high, of_boxes = _boxes(holders, generator)
    result = Measurement(case, {kind: Tally(runs=runs) for kind in (*cells, "range")})
    for _ in range(runs):
        estimate: Any = mechanism.estimate(draw_values(mechanism, people, generator))
        for kind, chosen in cells.items():
            result.tallies[kind].add(estimate.points(chosen), true[chosen])
        every = np.arange(true.size)
        if true.size <= TOGETHER_UP_TO:
            result.add_together(estimate.points(every), partial(points_at_level, estimate, every), true)
        result.tallies["range"].add(estimate.ranges(low, high), of_boxes)
    return result


def _boxes(holders: Indices, generator: np.random.Generator) -> tuple[Indices, Indices, Any]:
    """First and last cells along every axis, and the shares of the boxes between; not the whole grid."""
    low, high = np.sort(generator.integers(0, holders.shape, (_BOXES, 2, holders.ndim)), axis=1).transpose(1, 0, 2)
    part = ((low > 0) | (high < np.array(holders.shape) - 1)).any(axis=1)
    low, high = low[part], high[part]
    inside = [
        holders[tuple(slice(first, last + 1) for first, last in zip(*ends, strict=True))].sum()
        for ends in zip(low, high, strict=True)
    ]
    return low, high, np.array(inside) / holders.sum()
