"""A marginal's cells with the covariance of their errors: what every method gives, and every analysis starts from.

An estimate averages an unbiased score psi per report. Two questions have two variances. *These devices*: their values
are given, and n Cov = mean of psi psi' - diag f. *The population they are drawn from*: n Cov = mean of psi psi' - f f',
which is larger by the multinomial's diag f - f f'. Marginals and conditionals are about these devices; a test of
independence is about the population. A table keeps the second and derives the first.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hearsay.mechanisms.estimates.estimate import Z95, Floats, Measured
from hearsay.mechanisms.estimates.intervals import Spread, bernstein_log, between, leaning, score, widened
from hearsay.mechanisms.estimates.postprocess import project
from hearsay.mechanisms.marginals.characters.code import Attributes


class Score(NamedTuple):
    """`spread`: n Var as a function of the true share; if unknown, `slope` bounds its derivative. `step`: a report."""

    step: Floats | float
    spread: Spread | None = None
    slope: Floats | float = 0.0


@dataclass(frozen=True, eq=False)
class Table:
    """Estimated cells of one marginal, row-major; `covariance` is of a sample from a population."""

    attributes: Attributes
    shape: tuple[int, ...]
    reports: int
    value: Floats
    covariance: Floats  # NaN where a model has none
    largest: float = 0.0  # most that one report can move a cell, times n; 0: the normal interval holds
    cautious: float = 0.0  # a standard error that no table exceeds, where few reports cannot say theirs
    score: Score | None = None  # how the variance of a cell hangs on its share, where that is known: score intervals
    tail_step: Floats | float = 0.0  # what one report moves, where intervals beyond 1.96 standard errors allow for it
    method: str = ""  # the name of the model, where the value is one and not an unbiased estimate
    model: str = ""  # the same in words

    @cached_property
    def projected(self) -> Floats:
        """The nearest probability table: what is plugged into variances."""
        return project(self.value)

    @cached_property
    def conditional(self) -> Floats:
        """The covariance given the devices' values."""
        sampling = np.diag(self.projected) - np.outer(self.projected, self.projected)
        return self.covariance - sampling / max(self.reports, 1)

    @cached_property
    def stderr(self) -> Floats:
        """The standard error of every cell, given the devices' values; infinite where none of them told."""
        if not np.isfinite(self.largest):
            return np.full(self.value.shape, np.inf)
        return np.sqrt(np.maximum(np.diag(self.conditional), self.cautious**2))

    def measured(self, z: float = Z95) -> Measured:
        """Values and standard errors; with an interval where the normal one does not hold."""
        if self.largest:
            reach = self.bernstein(self.stderr, z=z)
            low, high = np.clip(self.value - reach, 0.0, 1.0), np.clip(self.value + reach, 0.0, 1.0)
            return Measured(self.value, self.stderr, low, high)
        if self.score is None:
            if z <= Z95:
                return Measured.plain(self.value, self.stderr)
            return widened(self.value, self.stderr, self.tail_step / (2 * max(self.reports, 1)), z)
        n, (step, spread, slope) = max(self.reports, 1), self.score
        step = step if z <= Z95 else np.maximum(step, self.tail_step)
        if spread is None:
            return leaning(self.value, self.stderr, slope / n, step / (2 * n), z)
        return between(self.value, self.stderr, *score(self.value, [spread], n, step, z=z), z)

    @cached_property
    def careful(self) -> Floats:
        """The covariance given the devices' values, with variances as wide as the intervals where these are wider."""
        if self.largest or self.score is None:
            return self.conditional
        low, high = self.measured().ends()
        wide = (np.maximum(high - self.value, self.value - low) / Z95) ** 2
        return self.conditional + np.diag(np.maximum(wide - np.diag(self.conditional), 0.0))

    def bernstein(self, stderr: Floats, cells: int = 1, z: float = Z95) -> Floats:
        """How far sums of so many cells may be off in few reports, by Bernstein's inequality."""
        log_of_level = bernstein_log(z)
        return np.sqrt(2 * log_of_level) * stderr + 2 * log_of_level * cells * self.largest / (3 * max(self.reports, 1))

    def along(self, keep: tuple[int, ...]) -> Floats:
        """The matrix that sums the table over all axes but `keep` (places of axes, rising)."""
        cells = np.arange(self.value.size).reshape(self.shape)
        others = tuple(axis for axis in range(len(self.shape)) if axis not in keep)
        groups = np.moveaxis(cells, keep, range(len(keep))).reshape(-1, int(np.prod([self.shape[i] for i in others])))
        matrix = np.zeros((len(groups), self.value.size))
        np.put_along_axis(matrix, groups, 1.0, axis=1)
        return matrix
