"""Any linear queries under any metric: the matrix mechanism with Laplace noise on the integers (Xiang et al. 3).

Device    Report column x of a strategy A plus independent discrete Laplace noise of rate u_k in row k, clamped to
          public limits.
Privacy   sum_k u_k |A_kx - A_ky| <= E(x, y) for every pair of values (proposition 2), checked in integers. Clamping
          is post-processing.
Fold      Sum the reported integers.
Estimate  Shares of cells by least squares from the mean report: shares = X mean + offset.
Variance  X diag(1/(cosh u_k - 1)) X' / n: exact, and independent of the devices' values. The rates u_k minimise the
          total variance of the workload.

Clamping changes the mean by less than 10^-9. Because of the limits a row has finitely many possible values, and a
report with any other value is rejected.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import nextafter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import CellMechanism, State, Values
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.linear import LinearEstimate, spans
from hearsay.mechanisms.exact.discrete_laplace import DiscreteLaplace, limit_for, variance
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.guarantees.distances import (
    Distances,
    MetricGuarantee,
    check_size,
    distances,
    metric_option,
)
from hearsay.mechanisms.guarantees.promises import Guarantee
from hearsay.mechanisms.layout import Layout, Reports, Vector, length_of, smallest_unsigned
from hearsay.mechanisms.metric.noise_rates import (
    LARGEST_RATE,
    RATE_BITS,
    Integers,
    optimise,
    round_down,
    spent,
    violation,
)
from hearsay.mechanisms.metric.strategies import SCALES, STRATEGY, WORKLOAD, Strategy

CLAMPING_BIAS = 1e-9
LARGEST_LIMIT = 1 << 20
_ROUNDS = 4  # of solving for X and optimising the rates in turn, if a strategy has more rows than cells


@dataclass(frozen=True)
class LaplaceRows(CellMechanism):
    """What `matrix` and `laplace-histogram` share: a strategy, a metric, and noise for every row."""

    PROMISE = "metric"

    ESTIMATE: ClassVar[type[CellEstimate]] = LinearEstimate
    SOLVED: ClassVar[tuple[str, ...]] = ("scales",)
    LONG_CHECK: ClassVar[str] = "the noise of every row is optimised, and every pair of values is checked"

    def check(self) -> None:
        check_size(self.domain)  # first: the rank of a strategy takes half a minute on a few thousand cells
        if not len(self.strategy.noisy):
            raise SpecificationError(
                what="options.strategy", must="have a row that tells values apart", got="constant rows only"
            )
        if self.options["scales"] is None:
            self._check_within_reach()
        self.strategy.check_spans(np.eye(self.domain.size) if self.workload is None else self.workload)
        if self.options["scales"] is not None:
            problem = violation(self.numerators, self.strategy.reported, self.epsilon, self.distances)
            if problem:
                raise SpecificationError(
                    what="options.scales", must="keep epsilon times the metric", ending=f": {problem}"
                )
        elif (self.numerators == 0).any():
            raise SpecificationError(
                what="epsilon", must="leave every row of the strategy some information", got="too little"
            )
        if max(self.limits) > LARGEST_LIMIT:
            raise SpecificationError(
                what="epsilon",
                must=f"keep the noise within {LARGEST_LIMIT}",
                got=f"a row that needs {max(self.limits)}",
            )

    @cached_property
    def strategy(self) -> Strategy:
        given = self.options["strategy"]
        if given == "prefix" and len(self.domain.axes) != 1:
            raise SpecificationError(f"options.strategy prefix needs one axis, got {len(self.domain.axes)}")
        return Strategy.of(given, self.domain.size)

    @property
    def metric(self) -> dict[str, Any]:
        """The metric, as the table of a survey file."""
        return dict(self.options["metric"])

    @cached_property
    def distances(self) -> Distances:
        return distances(self.metric, self.domain)

    @property
    def workload(self) -> Floats | None:
        """The rows of the survey's own workload; None if the workload is all cells or all ranges."""
        return None

    def gram(self) -> Floats:
        """W'W of the workload W whose total squared error is minimised; here W is all cells."""
        return np.eye(self.domain.size)

    @cached_property
    def numerators(self) -> Integers:
        """The rate u_k of each reported row in multiples of 2^-40."""
        rows, bound = self.strategy.reported, self.epsilon * self.distances
        if self.options["scales"] is not None:
            return self._given_rates(self.options["scales"])
        rates = np.ones(len(rows))
        for _ in range(_ROUNDS if len(rows) > self.domain.size else 1):
            matrix, _offset = self.strategy.rebuild(variance(rates))
            weights = np.einsum("xk,xy,yk->k", matrix, self.gram(), matrix, optimize=True)
            rates = optimise(rows, np.maximum(weights, 1e-9 * weights.max()), bound)
        return round_down(rates, rows, self.epsilon, self.distances)

    def _check_within_reach(self) -> None:
        """Refuse an epsilon that is too small before the optimiser runs, which takes many seconds on a thousand cells.

        Whatever rates the other rows have, the pairs of neighbouring cells bound the rate of each row.
        """
        difference = np.abs(np.diff(self.strategy.reported, axis=1))
        allowed = self.epsilon * np.diagonal(self.distances, offset=1)
        with np.errstate(divide="ignore"):
            of_rows = np.where(difference > 0, allowed / difference, np.inf).min(axis=1)
        rate = min(float(of_rows.min()), LARGEST_RATE)
        if rate > 0 and (least := limit_for(rate, CLAMPING_BIAS)) > LARGEST_LIMIT:
            raise SpecificationError(
                what="epsilon", must=f"keep the noise within {LARGEST_LIMIT}", got=f"a row that needs at least {least}"
            )

    def _given_rates(self, scales: Sequence[float]) -> Integers:
        if len(scales) != len(self.strategy.rows):
            raise SpecificationError(
                what="options.scales", must=f"have {len(self.strategy.rows)} entries", got=len(scales)
            )
        rates = []
        for row in self.strategy.noisy:
            if scales[row] == 0:
                raise SpecificationError(
                    what=f"options.scales[{row + 1}]", expected="> 0: the row tells values apart", got=0
                )
            rate = int((1 << RATE_BITS) / (Fraction(scales[row]) * self.strategy.factors[row]))
            if not 0 < rate <= LARGEST_RATE * 2**RATE_BITS:
                raise SpecificationError(f"options.scales[{row + 1}] is out of reach of the noise, got {scales[row]:g}")
            rates.append(rate)
        return np.array(rates, dtype=np.int64)

    @cached_property
    def rates(self) -> Floats:
        return self.numerators / 2.0**RATE_BITS

    def canonical_options(self) -> dict[str, Any]:
        """The options with the optimised scales written out, so that a device needs no optimiser."""
        scales = [0.0] * len(self.strategy.rows)
        for row, numerator in zip(self.strategy.noisy, self.numerators.tolist(), strict=True):
            exact = Fraction(1 << RATE_BITS, numerator) / self.strategy.factors[row]
            nearest = float(exact)
            # Rounded down: when it is read, its rate is rounded down, and must be this one again.
            scales[row] = nearest if Fraction(nearest) <= exact else nextafter(nearest, 0.0)
        return {**super().canonical_options(), "scales": scales}

    @property
    def guarantee(self) -> Guarantee:
        return MetricGuarantee(self.epsilon, self.metric)

    @cached_property
    def spent_epsilon(self) -> float:
        finite = np.isfinite(self.distances) & (self.distances > 0)
        used = spent(self.strategy.reported, self.numerators)[finite] / 2.0**RATE_BITS
        return min(float((used / self.distances[finite]).max()), self.epsilon)

    @cached_property
    def limits(self) -> list[int]:
        """For each row, how far the reported integer may be from the row's values before it is clamped."""
        return [limit_for(rate, CLAMPING_BIAS) for rate in self.rates.tolist()]

    @cached_property
    def _lowest(self) -> Integers:
        return self.strategy.reported.min(axis=1) - np.array(self.limits)

    @cached_property
    def _digits(self) -> Integers:
        """How many different integers can be reported for each row."""
        return self.strategy.reported.max(axis=1) + np.array(self.limits) - self._lowest + 1

    @cached_property
    def _noise(self) -> list[DiscreteLaplace]:
        return [
            DiscreteLaplace(Fraction(numerator, 1 << RATE_BITS), int(digits) - limit)
            for numerator, digits, limit in zip(self.numerators.tolist(), self._digits, self.limits, strict=True)
        ]

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(vector=Vector("values", len(self._digits), int(self._digits.max())))

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {"sum": (len(self._digits),), "n": (1,)}

    def perturb(self, values: Values, random: Random) -> Reports:
        cells = self.domain.flatten(values)
        reported = np.empty((len(cells), len(self._digits)), dtype=smallest_unsigned(int(self._digits.max())))
        for row, noise in enumerate(self._noise):
            noisy = self.strategy.reported[row, cells] + noise.draw(random, len(cells)) - self._lowest[row]
            reported[:, row] = np.clip(noisy, 0, self._digits[row] - 1)
        return {"values": reported}

    def valid(self, reports: Reports) -> NDArray[np.bool_] | None:
        possible: NDArray[np.bool_] = np.all(reports["values"] < self._digits, axis=1)
        return possible

    def fold(self, state: State, reports: Reports) -> State:
        count = length_of(reports)
        state["sum"] += reports["values"].sum(axis=0, dtype=np.int64) + count * self._lowest
        state["n"] += count
        return state

    def reports(self, state: State) -> int:
        return int(state["n"][0])

    @cached_property
    def _rebuild(self) -> tuple[Floats, Floats]:
        return self.strategy.rebuild(variance(self.rates))

    @cached_property
    def covariance(self) -> Floats:
        """n times the covariance of the estimated shares."""
        matrix, _ = self._rebuild
        return (matrix * variance(self.rates)) @ matrix.T

    def estimate(self, state: State) -> LinearEstimate:
        n, (matrix, offset), shape = self.reports(state), self._rebuild, self.domain.shape
        solution = matrix @ (state["sum"] / max(n, 1)) + offset
        stderr = np.sqrt(np.diagonal(self.covariance) / n) if n else np.full(self.domain.size, np.inf)
        shares, hidden = solution, self.strategy.hidden
        if hidden is not None:
            known = spans(hidden, np.eye(self.domain.size))
            shares, stderr = (np.where(known, values, np.nan) for values in (solution, stderr))
        tables = shares.reshape(shape), stderr.reshape(shape)
        return LinearEstimate(self.domain, n, *tables, self.covariance, solution, matrix, self.workload, hidden)

    def channel(self) -> NDArray[np.float64]:
        outcomes = self.layout.enumerate()["values"].astype(np.int64)
        table = np.ones((self.domain.size, len(outcomes)))
        for row, noise in enumerate(self._noise):
            drawn = np.arange(-noise.limit, noise.limit + 1)
            for cell, value in enumerate(self.strategy.reported[row]):
                digits = np.clip(value + drawn - self._lowest[row], 0, self._digits[row] - 1)
                masses = np.bincount(digits, weights=noise.probabilities(), minlength=int(self._digits.max()))
                table[cell] *= masses[outcomes[:, row]]
        return table

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """Root mean square error over the rows of the workload, over all cells and, on one axis, over all ranges."""
        cells, predicted = self.domain.size, {}
        if self.workload is not None:
            total = float((self.gram() * self.covariance).sum())
            predicted = {"linear": float(np.sqrt(total / len(self.workload) / max(reports, 1)))}
        if self.strategy.hidden is not None:
            return predicted
        predicted |= {"point": float(np.sqrt(np.trace(self.covariance) / cells / max(reports, 1)))}
        if self.domain.is_line:
            total = float((_ranges_gram(cells) * self.covariance).sum())
            predicted["range"] = float(np.sqrt(total / (cells * (cells + 1) / 2) / max(reports, 1)))
        return predicted


def _ranges_gram(cells: int) -> Floats:
    """W'W of all ranges on one axis: for every two cells, how many ranges contain both."""
    cell = np.arange(cells)
    first, last = np.minimum.outer(cell, cell), np.maximum.outer(cell, cell)
    return ((first + 1) * (cells - last)).astype(np.float64)


@dataclass(frozen=True)
class MatrixMechanism(LaplaceRows):
    """The mechanism with any strategy and workload."""

    ID = "matrix"
    SUMMARY = "linear queries under any metric: a strategy's rows with optimised Laplace noise on the integers"
    OPTIONS = (
        STRATEGY,
        metric_option("l1"),
        WORKLOAD,
        SCALES,
    )
    EXAMPLES = (
        {"epsilon": 1.5, "domain": {"kind": "ordinal", "size": 4}},
        {
            "epsilon": 3.0,
            "domain": {"kind": "categorical", "size": 3},
            "options": {"strategy": [[1, 0, 0.5], [0, 1, -0.5], [1, 1, 1]], "metric": "ldp"},
        },
    )

    def check(self) -> None:
        given, cells = self.options["workload"], self.domain.size
        if not isinstance(given, str) and any(len(row) != cells for row in given):
            raise SpecificationError(what="options.workload", must=f"have rows of {cells} numbers, one per cell")
        super().check()

    @cached_property
    def workload(self) -> Floats | None:
        given = self.options["workload"]
        return None if isinstance(given, str) else np.array(given)

    def gram(self) -> Floats:
        if self.workload is not None:
            return self.workload.T @ self.workload
        if self.options["workload"] == "cells":
            return super().gram()
        if len(self.domain.axes) != 1:
            raise SpecificationError(f"options.workload ranges needs one axis, got {len(self.domain.axes)}")
        return _ranges_gram(self.domain.size)
