"""Ranges from Haar coefficients, each with its exact standard error; the formulas are in `haar`."""

from dataclasses import dataclass

import numpy as np

from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.estimates.estimate import Z95, Floats
from hearsay.mechanisms.estimates.intervals import least_explained
from hearsay.mechanisms.estimates.ranges import MANY, Ends, RangeEstimate, standard_error

NEGLIGIBLE = 1e-3  # below this share of a variance, what would be taken off it is left out


@dataclass(frozen=True)
class HaarLevel:
    """One level: d of every node, the variance per unit of sum w^2, and what the estimate explains of it.

    `explained[u xor v]` goes with own counts, `reports`, for (sum w d)^2/reports, with the expected count; 0 where that
    is next to nothing. Both are lower limits: an estimate may explain more than there is.
    """

    differences: Floats
    noise: float
    explained: Floats | None
    reports: int = 0

    def telling(self, correlation: float) -> tuple[Ends, Floats]:
        """Nodes whose own difference is more than noise, and what each explains at least."""
        noise = 1 / correlation**2
        nodes = np.flatnonzero(np.abs(self.differences) > Z95 * np.sqrt(noise / self.reports))
        return nodes, least_explained(self.differences[nodes] ** 2, self.reports, noise)


@dataclass(frozen=True)
class HaarEstimate(RangeEstimate):
    """Shares rebuilt from the differences; `cumulative` is the share before each cell, D + 1 of them."""

    levels: tuple[HaarLevel, ...]  # the finest first
    cumulative: Floats
    correlation: float

    @classmethod
    def of(cls, domain: Cells, reports: int, levels: tuple[HaarLevel, ...], correlation: float) -> "HaarEstimate":
        """Rebuild every cell from the root down; nobody is beyond the domain, so the last cell takes what is there."""
        shares, of_nodes, coins, explained = np.ones(1), np.zeros(1), 0.0, 0.0
        for distance, level in enumerate(reversed(levels)):
            shares = _halve(shares, level.differences)
            unit = 4.0 ** -(len(levels) - distance)
            coins += unit * level.noise
            explained += unit * (level.explained[0] if level.explained is not None else 0.0)
            if level.reports:
                of_nodes = np.repeat(of_nodes, level.differences.size // of_nodes.size)
                nodes, part = level.telling(correlation)
                of_nodes[nodes] += unit / level.reports * part
        cumulative = np.zeros(domain.size + 1)
        np.cumsum(shares[: domain.size], out=cumulative[1:])
        cumulative[-1] = 1.0
        cells = shares[: domain.size].copy()
        cells[-1] = 1.0 - cumulative[-2]
        variance = np.repeat(coins - explained - of_nodes, shares.size // of_nodes.size)[: domain.size]
        if min(float(cells.max()), 1.0) > NEGLIGIBLE * coins * reports:
            variance -= _one_level_only(cells, reports)
        np.maximum(variance, (1 - correlation**2) * coins, out=variance)
        made = cls(domain, reports, cells, standard_error(variance, reports), levels, cumulative, correlation)
        end = np.array([[domain.size - 1]], dtype=np.int64)
        made.stderr[-1:] = made.ranges(end, end).stderr
        return made

    def answer(self, x: Ends, y: Ends) -> tuple[Floats, Floats]:
        value = self.cumulative[y] - self.cumulative[x]
        y = np.where(y == self.domain.size, 0, y)  # nobody is beyond: up to the end is up to the padded end, exact
        coins, explained = np.zeros(x.size), np.zeros(x.size)
        for height, level in enumerate(self.levels, start=1):
            size = 1 << height
            left, right = x >> height, y >> height
            left_offset, right_offset = x & (size - 1), y & (size - 1)
            left_weight = np.minimum(left_offset, size - left_offset) * (-1.0 / size)
            right_weight = np.minimum(right_offset, size - right_offset) * (1.0 / size)
            squares = left_weight**2 + right_weight**2
            products = 2 * left_weight * right_weight
            own = squares + products * (left == right)
            coins += level.noise * own
            if level.explained is not None:
                explained += squares * level.explained[0] + products * level.explained[left ^ right]
            elif level.reports:
                mean = left_weight * level.differences[left] + right_weight * level.differences[right]
                part = least_explained(mean**2 / np.maximum(own, 1e-300), level.reports, 1 / self.correlation**2)
                explained += own * part / level.reports
        # The coins make noise whatever the truth is, and no estimate explains it away.
        variance = coins - explained - _one_level_only(value, self.reports)
        return value, np.maximum(variance, (1 - self.correlation**2) * coins)

    @property
    def few_reports(self) -> bool:
        return max(level.noise for level in self.levels) * self.correlation**2 * MANY > 1

    def sensitivity(self, x: Ends, y: Ends) -> tuple[Floats | float, Floats | float]:
        """A report moves a level's part by twice its largest weight over c and the level's reports."""
        most = np.zeros(x.size)
        y = np.where(y == self.domain.size, 0, y)
        for height, level in enumerate(self.levels, start=1):
            size = 1 << height
            offsets = np.stack([x & (size - 1), y & (size - 1)])
            weight = np.minimum(offsets, size - offsets).max(axis=0) / size
            np.maximum(most, weight * (level.noise * self.correlation), out=most)
        return 0.0, most

    def prefix_values(self) -> Floats:
        return self.cumulative[1:]


def _halve(shares: Floats, differences: Floats) -> Floats:
    halves = np.empty(2 * shares.size)
    halves[0::2] = (shares + differences) / 2
    halves[1::2] = (shares - differences) / 2
    return halves


def _one_level_only(share: Floats, reports: int) -> Floats:
    clipped = np.clip(share, 0.0, 1.0)
    return clipped * (1 - clipped) / max(reports, 1)
