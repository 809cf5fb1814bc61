"""Any finite channel: a table of P(output | value) in exact integers out of 2^64, drawn, inverted and checked.

Device    Output y with probability weights[x][y]/2^64.
Privacy   weights[x][y] <= e^E[x, x'] weights[x'][y] for every output and every ordered pair with a promise; checked
          here in exact arithmetic.
Estimate  f = M hist/n with M Q^T = I, weighted so that it is the best such M where values are equally frequent; or the
          maximum likelihood. A channel whose rows are linearly dependent has no unbiased estimate at all.
Variance  sum_j f_j v[x,j]/n, v[x,j] = sum_y M[x,y]^2 Q[j,y] - [x = j], given the devices' values: known but for the
          shares, so intervals ask it of every share of x, with the other values in the proportions estimated. The form
          with the observed outputs in the place of Q f looks at few of them for a rare value, and is far too small.
"""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import accumulate
from math import inf

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State, Values
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.estimate import Floats, Measured
from hearsay.mechanisms.estimates.intervals import ScoredCells, Spread, scored_cells
from hearsay.mechanisms.estimates.postprocess import project
from hearsay.mechanisms.exact.mixtures import Weights
from hearsay.mechanisms.exact.randomness import WORD, Random, Words
from hearsay.mechanisms.exact.thresholds import exponential, log_ratio
from hearsay.mechanisms.guarantees.promises import PureLDP
from hearsay.mechanisms.layout import Reports, smallest_unsigned
from hearsay.mechanisms.oracles.oracle import standard_errors
from hearsay.mechanisms.oracles.output_histogram import OutputHistogram
from hearsay.mechanisms.portable import Node, table

SINGULAR = 1e-9  # rows whose least singular value is below this part of the largest count as dependent
_CLOSE = 1e-9  # losses so close to a bound are compared in exact arithmetic


def losses(channel: Floats) -> Floats:
    """ln of the worst likelihood ratio for every ordered pair of rows; infinite where a zero gives a value away."""
    logs = _logs(channel)
    return np.array([_losses_of(one, logs) for one in range(len(channel))])


def _logs(channel: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(channel)


def _losses_of(one: int, logs: Floats) -> Floats:
    """How much more than every other value the value `one` makes of some output."""
    possible = logs[one] > -inf
    row, others = (logs[one], logs) if possible.all() else (logs[one, possible], logs[:, possible])
    return (row - others).max(axis=1)


def broken_pair(weights: Weights, bound: Floats) -> tuple[int, int] | None:
    """The first ordered pair of values for which the channel says more than the bound allows; None if all keep it."""
    logs = _logs(np.array(weights, dtype=np.float64))
    for one in range(len(weights)):
        losses_of_one = _losses_of(one, logs)
        losses_of_one[one] = -inf
        others = np.flatnonzero(losses_of_one > bound[one] - _CLOSE)
        if not others.size:
            continue
        outputs = np.flatnonzero(logs[one] > -inf)
        # Only what is close to its bound, or beyond it, needs exact arithmetic.
        near = logs[one, outputs] - logs[np.ix_(others, outputs)] > (bound[one, others] - 2 * _CLOSE)[:, None]
        for row, output in zip(*(axis.tolist() for axis in np.nonzero(near)), strict=True):
            other, column = int(others[row]), int(outputs[output])
            allowed, unit = _allowed(float(bound[one, other]))
            if weights[one][column] * unit > allowed * weights[other][column]:
                return one, other
    return None


def pure_broken_pair(weights: Weights, epsilon: float) -> tuple[int, int] | None:
    """The same for one bound on all pairs, which compares the extremes of every output: no pair needs a look."""
    allowed, unit = _allowed(epsilon)
    columns = list(zip(*weights, strict=True))
    broken = [column for column in columns if max(column) * unit > allowed * min(column)]
    if not broken:
        return None
    for one in range(len(weights)):
        for column in broken:
            if column[one] * unit > allowed * min(column):
                return one, column.index(min(column))
    raise AssertionError("one of the values of a broken output is its most likely one")


@cache
def _allowed(epsilon: float) -> tuple[int, int]:
    """e^epsilon as a ratio of integers."""
    return exponential(epsilon).as_integer_ratio()


@dataclass(frozen=True)
class Likeliest(CellEstimate):
    """Maximum likelihood shares, which a limit at 0 biases; their intervals are the unbiased shares'."""

    unbiased: ScoredCells

    def points(self, cells: NDArray[np.int64]) -> Measured:
        value, stderr = self.estimate.reshape(-1)[cells], self.stderr.reshape(-1)[cells]
        low, high = self.unbiased.at_level(self.z).ends(cells)
        return Measured(value, stderr, np.minimum(low, value), np.maximum(high, value))


@dataclass(frozen=True)
class FiniteChannel(OutputHistogram):
    """A mechanism given by its table of probabilities."""

    @property
    @abstractmethod
    def weights(self) -> Weights:
        """P(output | value) out of 2^64, a row per value; every row sums to 2^64."""

    @property
    def likelihood(self) -> bool:
        """Estimate by maximum likelihood instead of by the inverse."""
        return False

    @property
    def pure_epsilon(self) -> float | None:
        """The promise where it is the same for every pair; None where it takes a matrix."""
        return self.guarantee.epsilon if isinstance(self.guarantee, PureLDP) else None

    @cached_property
    def outputs(self) -> int:
        return len(self.weights[0])

    def channel(self) -> NDArray[np.float64]:
        return np.array(self.weights, dtype=np.float64) / WORD

    @cached_property
    def spent_epsilon(self) -> float:
        """The worst loss over the pairs with a promise, of the integers really drawn."""
        if self.pure_epsilon is not None:
            columns = (column for column in zip(*self.weights, strict=True) if any(column))
            return log_ratio(max(Fraction(max(column), min(column)) for column in columns), Fraction(1))
        bound = self.guarantee.matrix(self.domain)
        finite = np.where(np.isinf(bound), 0.0, losses(np.array(self.weights, dtype=np.float64)))
        one, other = np.unravel_index(np.argmax(finite), finite.shape)
        pairs = zip(self.weights[one], self.weights[other], strict=True)
        worst = max(Fraction(mine, theirs) for mine, theirs in pairs if theirs)
        return log_ratio(worst, Fraction(1))

    def perturb(self, values: Values, random: Random) -> Reports:
        cells = self.domain.flatten(values)
        output = np.empty(cells.size, dtype=smallest_unsigned(self.outputs))
        order = np.argsort(cells, kind="stable")
        ends = np.searchsorted(cells[order], np.arange(self.domain.size), side="right")
        start = 0
        for cell, end in enumerate(ends):
            if end > start:
                output[order[start:end]] = self._draw(cell, int(end - start), random)
                start = int(end)
        return {"output": output}

    def portable(self) -> Node:
        outputs, ends = self._thresholds
        return table(outputs.tolist(), ends.tolist())

    def _draw(self, cell: int, count: int, random: Random) -> NDArray[np.intp]:
        outputs, ends = self._thresholds
        return outputs[cell][random.choose(ends[cell], count)]

    @cached_property
    def _thresholds(self) -> tuple[NDArray[np.intp], Words]:
        """For every value its outputs, and the words at which all but the last of them end.

        Outputs without probability are left out: the ends of the others then lie strictly inside a word. In their place
        stand outputs that end at 0, where no word falls, so that drawing takes the same steps for every value.
        """
        outputs = np.zeros((self.domain.size, self.outputs), dtype=np.intp)
        ends = np.zeros((self.domain.size, self.outputs - 1), dtype=np.uint64)
        for cell, weights in enumerate(self.weights):
            possible = [output for output, weight in enumerate(weights) if weight]
            outputs[cell, self.outputs - len(possible) :] = possible
            inside = list(accumulate(weights[output] for output in possible[:-1]))
            ends[cell, self.outputs - len(possible) :] = np.array(inside, dtype=np.uint64)
        return outputs, ends

    @cached_property
    def rank(self) -> int:
        """How many values the channel can tell apart."""
        return int(np.linalg.matrix_rank(self.channel(), tol=SINGULAR * np.linalg.norm(self.channel(), 2)))

    @cached_property
    def even_inverse(self) -> Floats:
        """M where all values are equally frequent; outputs that never occur count for nothing."""
        channel = self.channel()
        occurs = channel.sum(axis=0) > 0
        table = np.zeros_like(channel)
        weighted = channel[:, occurs] / channel[:, occurs].mean(axis=0)
        table[:, occurs] = np.linalg.solve(weighted @ channel[:, occurs].T, weighted)
        return table

    def estimate(self, state: State) -> CellEstimate:
        n = self.reports(state)
        shares = state["hist"] / max(n, 1)
        f = self.even_inverse @ shares if self.rank == self.domain.size else None
        if not self.likelihood and f is not None:
            return self._scored(n, f)
        likely, variance = self._most_likely(shares)
        stderr = standard_errors(variance, n)
        shape = self.domain.shape
        plain = CellEstimate(self.domain, n, likely.reshape(shape), stderr.reshape(shape))
        return plain if f is None else Likeliest(**vars(plain), unbiased=self._scored(n, f))

    def _scored(self, reports: int, f: Floats) -> ScoredCells:
        """Unbiased shares: n Var of each, by its own share and that of the others together."""
        shares = project(f) if reports else np.full(f.shape, 1 / f.size)
        own, every = np.diag(self.score_variances), self.score_variances @ shares
        rest = 1 - shares
        even = (self.score_variances.sum(axis=1) - own) / max(f.size - 1, 1)
        others = np.where(rest > _CLOSE, (every - own * shares) / np.maximum(rest, _CLOSE), even)
        apart = self.even_inverse.max(axis=1) - self.even_inverse.min(axis=1)
        return scored_cells(self.domain, reports, f, (Spread(others, own - others),), apart)

    @cached_property
    def score_variances(self) -> Floats:
        """v: the variance of a report's score for every value (rows), given the value it comes from (columns)."""
        return np.maximum(self.even_inverse**2 @ self.channel().T - np.eye(self.domain.size), 0.0)

    def _most_likely(self, shares: Floats) -> tuple[Floats, Floats]:
        """Expectation maximisation from equal shares; n Var from the information matrix, unknown where it is singular.

        The inverse information is the variance with random values; the values' own part, f, is taken off.
        """
        channel = self.channel()
        f = np.full(len(channel), 1 / len(channel))
        for _ in range(20_000):
            explained = np.maximum(f @ channel, 1e-300)
            better = f * (channel @ (shares / explained))
            if np.abs(better - f).max() < 1e-13:
                break
            f = better
        if self.rank < len(channel) or not shares.any():
            return f, np.full_like(f, np.nan)
        information = (channel / np.maximum(f @ channel, 1e-300)) @ channel.T
        return f, np.diag(np.linalg.inv(information)) - f

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """For values equally frequent, averaged over the cells; nothing where no unbiased estimate exists."""
        if self.rank < self.domain.size:
            return {}
        variance = self.even_inverse**2 @ self.channel().mean(axis=0) - 1 / self.domain.size
        return {"point": float(np.sqrt(np.mean(variance) / reports))}
