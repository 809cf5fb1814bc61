"""Views: a device reports the table of one public set of attributes, drawn evenly among all views.

A marginal is pooled over the views that contain it: each gives an unbiased estimate from its own n_v reports, weighted
by n_v/V, V its variance at even shares (the same for all views of binary attributes). With weights w, sum one,

    Cov = sum over views of w^2 (V_v + diag f - f f')/n_v,   less (diag f - f f')/n given the devices' values.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.intervals import Spread
from hearsay.mechanisms.estimates.postprocess import project
from hearsay.mechanisms.marginals.characters.code import Attributes, Code
from hearsay.mechanisms.marginals.methods.hits import Chances, sampling, shares
from hearsay.mechanisms.marginals.table import Score, Table

Covariance = Callable[[Floats, int, Chances], Floats]
NORMAL_FROM = 60  # reports of a marginal below which its own spread cannot be told


@dataclass(frozen=True, eq=False)
class Views:
    """The public sets, and how their cells stand one after the other in a state."""

    code: Code
    sets: tuple[Attributes, ...]

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """R of every view."""
        return np.array([self.code.cells(attributes) for attributes in self.sets])

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each view's cells start; last: the end."""
        return np.concatenate([[0], np.cumsum(self.cells)])

    @property
    def total(self) -> int:
        """Cells of all views together."""
        return int(self.starts[-1])

    def containing(self, attributes: Attributes) -> list[int]:
        """The views that contain all these attributes."""
        return [number for number, chosen in enumerate(self.sets) if set(attributes) <= set(chosen)]

    def locate(self, values: NDArray[np.int64], view: NDArray[np.intp]) -> NDArray[np.int64]:
        """The cell of every device in its view, row-major."""
        width = max(map(len, self.sets))
        axes, factors = np.zeros((len(self.sets), width), dtype=np.intp), np.zeros((len(self.sets), width), np.int64)
        for number, chosen in enumerate(self.sets):
            axes[number, : len(chosen)] = chosen
            shape = self.code.shape(chosen)
            factors[number, : len(chosen)] = [int(np.prod(shape[axis + 1 :])) for axis in range(len(chosen))]
        cell = np.zeros(len(values), dtype=np.int64)
        rows = np.arange(len(values))
        for axis in range(width):
            cell += values[rows, axes[view, axis]] * factors[view, axis]
        return cell

    def summed(self, view: int, cells: NDArray[np.int64], attributes: Attributes) -> NDArray[np.int64]:
        """One view's cells, summed to a marginal in the order named."""
        chosen = self.sets[view]
        others = tuple(axis for axis, attribute in enumerate(chosen) if attribute not in attributes)
        table = cells.reshape(self.code.shape(chosen)).sum(axis=others)
        kept = [attribute for attribute in chosen if attribute in attributes]
        return np.transpose(table, [kept.index(attribute) for attribute in attributes]).reshape(-1)


@dataclass(frozen=True, eq=False)
class Pooled:
    """Hits of all views, and how a marginal is pooled from them."""

    views: Views
    chances: tuple[Chances, ...]  # of every view
    covariance: Covariance

    def weights(self, attributes: Attributes, counts: Floats) -> tuple[list[int], Floats]:
        """The views that help, and the weight of each; they sum to one."""
        useful = self.views.containing(attributes)
        cells = self.views.code.cells(attributes)
        even = np.full(cells, 1 / cells)
        noise = np.array(
            [
                self.covariance(even, int(self.views.cells[view]) // cells, self.chances[view]).diagonal().mean()
                + even[0] * (1 - even[0])
                for view in useful
            ]
        )
        weight = counts[useful] / noise
        return useful, weight / max(weight.sum(), 1e-300)

    def table(self, attributes: Attributes, hits: NDArray[np.int64], counts: NDArray[np.int64], reports: int) -> Table:
        """The pooled marginal."""
        code = self.views.code
        cells = code.cells(attributes)
        useful, weight = self.weights(attributes, counts.astype(np.float64))
        value = np.zeros(cells)
        for view, share in zip(useful, weight, strict=True):
            own = hits[self.views.starts[view] : self.views.starts[view + 1]]
            summed = self.views.summed(view, own, attributes)
            value += share * shares(summed, int(counts[view]), self._each(view, cells), self.chances[view])
        cell_shares = project(value)
        covariance = np.zeros((cells, cells))
        for view, share in zip(useful, weight, strict=True):
            noise = self.covariance(cell_shares, self._each(view, cells), self.chances[view]) + sampling(cell_shares)
            covariance += share**2 / max(int(counts[view]), 1) * noise
        bounds = self._of_few_reports(weight, counts[useful], reports)
        score = self._score(cells, useful, weight, counts, reports)
        return Table(attributes, code.shape(attributes), reports, value, covariance, *bounds, score=score)

    def _score(self, cells: int, useful: list[int], weight: Floats, counts: NDArray[np.int64], reports: int) -> Score:
        """n Var of a cell as a function of its share f: every view's V is straight in it, and devices are sampled."""
        constant, linear, square, step, n = 0.0, -1.0, 1.0, 0.0, max(reports, 1)
        for view, share in zip(useful, weight, strict=True):
            chances, each = self.chances[view], self._each(view, cells)
            least, most = (
                float(
                    self.covariance(np.append(f, np.full(cells - 1, (1 - f) / max(cells - 1, 1))), each, chances)[0, 0]
                )
                for f in (0.0, 1.0)
            )
            own = n * share**2 / max(int(counts[view]), 1)
            constant, linear, square = constant + own * least, linear + own * (most - least + 1), square - own
            step = max(step, n * share / (max(int(counts[view]), 1) * chances.gap))
        return Score(step, Spread(constant, linear, square))

    def _of_few_reports(self, weight: Floats, counts: NDArray[np.int64], reports: int) -> tuple[float, float]:
        """Where a marginal has few reports: how far one of them can move it, times n, and a safe standard error."""
        seen = counts > 0
        share = float((weight[seen] ** 2 / counts[seen]).sum())  # one over the reports that the marginal counts as
        if not share:
            return np.inf, 0.0
        if 1 / share >= NORMAL_FROM:
            return 0.0, 0.0
        hit = float(np.max(self.views.cells)) * max(chances.q for chances in self.chances)
        bound = (1 + hit) / min(chances.gap for chances in self.chances)
        spread = max((chances.p * (1 - chances.p)) / chances.gap**2 for chances in self.chances) + hit * bound
        return bound * share * reports, float(np.sqrt((spread + 0.25) * share))

    def _each(self, view: int, cells: int) -> int:
        return int(self.views.cells[view]) // cells

    def predicted(self, attributes: Attributes) -> float:
        """sqrt n times the mean standard error of a marginal's cells, at even shares."""
        evenly = np.full(len(self.views.sets), 1 / len(self.views.sets))
        useful, weight = self.weights(attributes, evenly)
        cells = self.views.code.cells(attributes)
        even = np.full(cells, 1 / cells)
        total = sum(
            share**2
            * len(self.views.sets)
            * (self.covariance(even, self._each(view, cells), self.chances[view])[0, 0] + even[0] * (1 - even[0]))
            for view, share in zip(useful, weight, strict=True)
        )
        return sqrt(total - even[0] * (1 - even[0]))
