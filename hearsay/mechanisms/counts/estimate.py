"""What the reports of a count survey say: the distribution, any sum of its shares, and the mean count.

A sum of shares with coefficients q is the mean over the reports of a score psi(output), with sum_y psi_y P(y | j) = q_j
for every count j. Given the devices' counts,

    n Var = sum_j f_j v_j,    v_j = sum_y psi_y^2 P(y | j) - q_j^2,

where f is replaced by the estimate, projected to the simplex. This variance is itself estimated: intervals add 1.96 of
its standard errors, and one report from the count with the largest v_j. Shares get score intervals (`intervals`). Other
sums get a continuity correction of half the distance between neighbouring outputs. Below ten reports the normal
approximation fails, and Bernstein's inequality with the largest v_j is used. Where the channel's rows are linearly
dependent, some q have no psi: they have no unbiased estimate, and the answer is unknown.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.charts import Chart
from hearsay.mechanisms.estimates.estimate import (
    DECILES,
    Averages,
    Ends,
    Floats,
    Measured,
    Ranges,
    Sums,
)
from hearsay.mechanisms.estimates.intervals import Spread, bernstein_log, between, score, skewed
from hearsay.mechanisms.estimates.postprocess import project
from hearsay.mechanisms.estimates.ranges import checked_ends

_FEW_REPORTS = 10
_ROUNDING = 1e-6  # of a coefficient, where the channel's inverse is as large as it may be
_NOBODY = 1e-9
_LISTED = 32  # counts that are listed one by one, before deciles say more
_SINGULAR = 1e-9  # singular values below this part of the largest are taken for 0


def inverse(channel: Floats) -> Floats:
    """M with M P = I, best where counts are equally frequent; on what P can tell where it cannot tell everything.

    P has a row per input and a column per output, M too; outputs that never occur count for nothing.
    """
    occurs = channel.sum(axis=0) > 0
    possible = channel[:, occurs]
    weighted = possible / possible.mean(axis=0)
    table = np.zeros_like(channel)
    if np.linalg.matrix_rank(possible, tol=_SINGULAR * np.linalg.norm(possible, 2)) == len(channel):
        table[:, occurs] = np.linalg.solve(weighted @ possible.T, weighted)
    else:
        table[:, occurs] = np.linalg.pinv(weighted @ possible.T, rcond=_SINGULAR, hermitian=True) @ weighted
    return table


@dataclass(frozen=True)
class Scores:
    """Scores for rows of coefficients, one per input."""

    channel: Floats
    inverse: Floats
    coefficients: Floats

    @cached_property
    def by_output(self) -> Floats:
        """psi: a row per sum; what is the same for every count is known exactly."""
        constant = np.ptp(self.coefficients, axis=1) == 0
        return np.where(constant[:, None], self.coefficients[:, :1], self.coefficients @ self.inverse)

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Which sums have an unbiased score."""
        missed = np.abs(self.by_output @ self.channel.T - self.coefficients).max(axis=1)
        return np.asarray(missed <= _ROUNDING * np.maximum(np.abs(self.coefficients).max(axis=1), _NOBODY))

    @cached_property
    def variances(self) -> Floats:
        """v: for every sum (rows) the variance of a report's score by the input that it comes from (columns)."""
        return np.maximum(self.by_output**2 @ self.channel.T - self.coefficients**2, 0.0)


@dataclass(frozen=True)
class CountEstimate(CellEstimate, Ranges, Sums, Averages):
    """Shares of the counts, from the shares of a finite channel's outputs."""

    channel: Floats
    inverse: Floats
    outputs: Floats

    @classmethod
    def of(cls, domain: Cells, reports: int, channel: Floats, table: Floats, outputs: Floats) -> Self:
        """From the channel, its inverse and how often each output was seen."""
        nothing = np.zeros(domain.size)
        blank = cls(domain, reports, nothing, nothing, channel, table, outputs)
        value, stderr, *_ = blank.sums(np.eye(domain.size))
        return replace(blank, estimate=value, stderr=stderr)

    def headline(self) -> tuple[str, ...]:
        return ("mean", "frequencies" if self.domain.size <= _LISTED else DECILES)

    def charts(self) -> tuple[Chart, ...]:
        return (*super().charts(), Chart("table", "mean", "Mean count"))

    def points(self, cells: Ends) -> Measured:
        return self.sums(np.eye(self.domain.size)[cells])

    def ranges(self, low: Ends, high: Ends) -> Measured:
        first, after = checked_ends(low, high, self.domain)
        count = np.arange(self.domain.size)
        return self.sums(((count >= first[:, None]) & (count < after[:, None])).astype(np.float64))

    def quantiles(self, ranks: Floats) -> Any:
        if not np.isfinite(self.cdf().value).all():
            raise QueryError("quantile needs the whole distribution, of which this survey's matrix leaves parts open")
        return super().quantiles(ranks)

    def average(self) -> Measured:
        return self.sums(np.arange(self.domain.size, dtype=np.float64)[None, :])

    def sums(self, coefficients: Floats | None = None) -> Measured:
        """Sums of the shares, one per row of coefficients; unknown where the channel does not tell them apart."""
        if coefficients is None:
            raise QueryError("query linear needs one coefficient per count: the survey has no workload of its own")
        scores = Scores(self.channel, self.inverse, coefficients)
        known = scores.known & (self.reports > 0)
        value = np.where(scores.known, scores.by_output @ self.outputs, np.nan)
        noise = self._noise(scores)
        stderr = np.where(known, np.sqrt(noise.least / max(self.reports, 1)), np.inf)
        shares = ((coefficients == 0) | (coefficients == 1)).all(axis=1)
        low, high = np.where(shares, self._scored(scores, value, noise), self._plain(scores, value, noise))
        if self.reports < _FEW_REPORTS:
            low, high = self._by_bernstein(scores, value)
        if known.all():
            return between(value, stderr, low, high, self.z)
        low, high = np.where(known, (low, high), (coefficients.min(axis=1), coefficients.max(axis=1)))
        return Measured(value, stderr, low, high)

    @cached_property
    def _projected(self) -> Floats:
        """The estimated shares, projected onto the simplex."""
        f = self.inverse @ self.outputs
        return project(f) if self.reports else np.full(f.shape, 1 / f.size)

    def _noise(self, scores: "Scores") -> "_Noise":
        reports, v = max(self.reports, 1), scores.variances
        plain, most = v @ self._projected, v.max(axis=1)
        of_plain = np.maximum(((v @ self.inverse) ** 2 @ self.channel.T - v**2) @ self._projected, 0.0)
        least = np.minimum(plain + most / reports, most)
        return _Noise(least, np.minimum(least + self.z * np.sqrt(of_plain / reports), most) - plain)

    def _scored(self, scores: "Scores", value: Floats, noise: "_Noise") -> tuple[Floats, Floats]:
        """Score intervals of shares: n Var is linear in the share, given in which proportions the counts inside occur,
        and those outside.
        """
        inside, v = scores.coefficients, scores.variances
        own, others = (_average(v, part, self._projected, noise.more) for part in (inside, 1 - inside))
        apart = scores.by_output.max(axis=1) - scores.by_output.min(axis=1)
        return score(value, [Spread(others, own - others)], self.reports, apart, z=self.z)

    def _plain(self, scores: "Scores", value: Floats, noise: "_Noise") -> tuple[Floats, Floats]:
        reports = max(self.reports, 1)
        step = np.abs(np.diff(scores.by_output, axis=1)).max(axis=1)
        plain = scores.variances @ self._projected
        away = self.z * np.sqrt((plain + noise.more) / reports) + skewed(self.z) * step / (2 * reports)
        return value - away, value + away

    def _by_bernstein(self, scores: "Scores", value: Floats) -> tuple[Floats, Floats]:
        reports, apart = max(self.reports, 1), np.ptp(scores.by_output, axis=1)
        most = scores.variances.max(axis=1)
        away = np.sqrt(2 * bernstein_log(self.z) * most / reports) + 2 * bernstein_log(self.z) * apart / (3 * reports)
        return value - away, value + away


class _Noise(NamedTuple):
    """n Var of sums: never below what one report from the noisiest count adds; and how much more it may well be."""

    least: Floats
    more: Floats


def _average(v: Floats, inside: Floats, shares: Floats, more: Floats) -> Floats:
    """n Var of those inside, at most that of the noisiest of them; all alike where nobody is there."""
    weight = inside @ shares
    even = (v * inside).sum(axis=1) / np.maximum(inside.sum(axis=1), 1.0)
    mean = np.where(weight > _NOBODY, (v * inside) @ shares / np.maximum(weight, _NOBODY), even)
    return np.asarray(np.minimum(mean + more, np.maximum((v * inside).max(axis=1), mean)))
