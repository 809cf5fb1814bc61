"""The best matrix for an objective among those that keep a promise and have given properties: a linear program.

Unknown are the probabilities P[output, input]; columns sum to one, the promise and the properties are inequalities
between two cells each (Ghosh et al. 2009; Kulkarni 6.3, theorem 9). Under a local promise every row has a least entry m
with m <= P <= m/a, which says the same as all pairs of inputs with O(n^2) inequalities.

Symmetry costs nothing where weights and losses are symmetric (theorem 8, which needs that): cells that mirror each
other are then one unknown, which halves the program. Best matrices under L0 and under a maximum are not unique: a
second program takes the one with the least L1 among them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from time import monotonic
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.counts.objectives import Floats, Objective, normalised
from hearsay.mechanisms.counts.promise import Promise
from hearsay.mechanisms.counts.properties import AtLeast, inequalities
from hearsay.mechanisms.errors import MechanismError

Variables = NDArray[np.intp]
Tell = Callable[[str], None]
_Attempt = tuple[Literal["highs-ipm", "highs-ds"], float]
TIME_LIMIT_S = 120.0
_INTERIOR = (30, 0.85)  # from this size and ratio on an interior point method is faster than the simplex


class NotSolved(MechanismError):
    """The solver found no best matrix in its time, or gave up."""


@dataclass(frozen=True)
class Program:
    """What is asked of a matrix for counts 0..largest."""

    largest: int
    promise: Promise
    properties: frozenset[str] = frozenset()
    objective: Objective = field(default_factory=Objective)
    weights: tuple[float, ...] | None = None
    tie: bool = True
    truth: float | None = None  # where given, every input is told as it is with just this probability

    @property
    def symmetric(self) -> bool:
        """Whether mirrored cells are one unknown: because that is asked for, or because it costs nothing."""
        shares = normalised(self.weights, self.largest)
        free = np.array_equal(shares, shares[::-1]) and self.objective.symmetric(self.largest)
        return free or "S" in self.properties

    def solve(self, time_limit_s: float = TIME_LIMIT_S, tell: Tell | None = None) -> Floats:
        """The best matrix, as floats that keep the promise up to the solver's tolerance."""
        model = _Model(self, monotonic() + time_limit_s, tell)
        charges = model.charges(self.objective)
        best = model.minimise(charges)
        if self.tie and (self.objective.power == 0 or self.objective.worst):
            best = model.minimise(model.charges(Objective(power=1)), _Ceiling(charges, float(charges @ best)))
        matrix: Floats = np.clip(best[model.cell], 0.0, 1.0)
        return matrix


class _Ceiling(NamedTuple):
    """A sum of the unknowns that must not get worse."""

    charges: Floats
    most: float


class _Model:
    """Unknowns: a cell's probability, under a local promise a least entry per row, under a maximum the worst loss."""

    def __init__(self, program: Program, ends: float, tell: Tell | None) -> None:
        self.ends, self.tell, self.attempts = ends, tell, _attempts(program)
        self.program, self.side = program, program.largest + 1
        cell = np.arange(self.side**2).reshape(self.side, self.side)
        least = np.arange(self.side)
        if program.symmetric:
            cell, least = np.minimum(cell, cell[::-1, ::-1]), np.minimum(least, least[::-1])
        _, cell_number = np.unique(cell, return_inverse=True)
        _, least_number = np.unique(least, return_inverse=True)
        self.cell: Variables = cell_number.reshape(self.side, self.side)
        self.size = int(self.cell.max()) + 1
        self.least: Variables = least_number + self.size
        if program.promise.local:
            self.size = int(self.least.max()) + 1
        self.size += program.objective.worst

    def charges(self, objective: Objective) -> Floats:
        """What each unknown costs; under a maximum only the last one does."""
        if objective.worst:
            return np.eye(1, self.size, self.size - 1)[0]
        charges = objective.losses(self.program.largest) * normalised(self.program.weights, self.program.largest)
        return np.bincount(self.cell.ravel(), charges.ravel(), self.size).astype(np.float64)

    def _pairs(self) -> Iterator[tuple[Variables, Variables, float]]:
        """Larger unknowns, smaller ones, and the factor of the smaller."""
        promise, cell = self.program.promise, self.cell
        a = float(promise.ratio)
        if promise.local:
            least = np.broadcast_to(self.least[:, None], cell.shape)
            yield cell, least, 1.0
            yield least, cell, a
        else:
            for apart in range(1, promise.reach(self.program.largest) + 1):
                yield cell[:, :-apart], cell[:, apart:], a
                yield cell[:, apart:], cell[:, :-apart], a
        for name in sorted(self.program.properties - {"S", "WH"}):
            for pair in inequalities(name, self.program.largest):
                yield cell[pair.larger], cell[pair.smaller], self._factor(pair, promise.ratio)

    @staticmethod
    def _factor(pair: AtLeast, ratio: Fraction) -> float:
        return float(ratio) if pair.scaled else 1.0

    def _at_least(self) -> Any:
        """smaller x factor - larger <= 0."""
        from scipy.sparse import csr_array

        parts = [
            np.stack([larger.ravel(), smaller.ravel(), np.full(larger.size, factor)])
            for larger, smaller, factor in self._pairs()
        ]
        table = np.concatenate(parts, axis=1)
        table = table[:, table[0] != table[1]]
        # Of several conditions on two cells the one with the largest factor says it all.
        table = table[:, np.lexsort((-table[2], table[1], table[0]))]
        first = np.r_[True, (np.diff(table[:2], axis=1) != 0).any(axis=0)]
        larger, smaller, factor = table[0, first].astype(np.intp), table[1, first].astype(np.intp), table[2, first]
        row = np.arange(larger.size)
        entries = np.concatenate([-np.ones(larger.size), factor])
        return csr_array(
            (entries, (np.concatenate([row, row]), np.concatenate([larger, smaller]))), shape=(larger.size, self.size)
        )

    def _worst(self) -> Any:
        """Every input's loss is at most the last unknown."""
        from scipy.sparse import csr_array

        program = self.program
        charges = program.objective.losses(program.largest) * normalised(program.weights, program.largest) * self.side
        given = np.broadcast_to(np.arange(self.side), charges.shape)
        rows = np.concatenate([given.ravel(), np.arange(self.side)])
        columns = np.concatenate([self.cell.ravel(), np.full(self.side, self.size - 1)])
        return csr_array(
            (np.concatenate([charges.ravel(), -np.ones(self.side)]), (rows, columns)), shape=(self.side, self.size)
        )

    def _sums(self) -> Any:
        from scipy.sparse import csr_array

        given = np.broadcast_to(np.arange(self.side), self.cell.shape)
        table = csr_array((np.ones(self.side**2), (given.ravel(), self.cell.ravel())), shape=(self.side, self.size))
        return table[: (self.side + 1) // 2] if self.program.symmetric else table

    def _bounds(self) -> Floats:
        bounds = np.stack([np.zeros(self.size), np.ones(self.size)], axis=1)
        diagonal = np.diag(self.cell)
        if "WH" in self.program.properties:
            bounds[diagonal, 0] = 1 / self.side
        if self.program.truth is not None:
            bounds[diagonal] = self.program.truth
        if self.program.objective.worst:
            bounds[-1, 1] = np.inf
        return bounds

    def minimise(self, charges: Floats, ceiling: _Ceiling | None = None) -> Floats:
        """The best unknowns, among those whose charges do not exceed the ceiling, where there is one."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, vstack

        rows, sums = self._rows, self._sums()
        limits = np.zeros(rows.shape[0])
        if ceiling is not None:  # times the number of inputs: nothing is lost but a part of the solver's tolerance
            rows = vstack([rows, csr_array(ceiling.charges[None, :] * self.side)], format="csr")
            limits = np.append(limits, ceiling.most * self.side)
        for method, tolerance in self.attempts:
            left = self.ends - monotonic()
            if left <= 0:
                break
            if self.tell is not None:
                self.tell(f"{self.size} unknowns, {rows.shape[0] + sums.shape[0]} conditions, at most {left:.0f} s")
            solution = linprog(
                charges,
                A_ub=rows,
                b_ub=limits + tolerance * (limits > 0),
                A_eq=sums,
                b_eq=np.ones(sums.shape[0]),
                bounds=[(low, high) for low, high in self._bounds().tolist()],
                method=method,
                options={
                    "time_limit": left,
                    "primal_feasibility_tolerance": tolerance,
                    "dual_feasibility_tolerance": tolerance,
                },
            )
            if solution.status == 0:
                return np.asarray(solution.x, dtype=np.float64)
        raise NotSolved(
            f"the linear program for counts 0..{self.program.largest} was not solved in its time "
            f"({self.size} unknowns, {rows.shape[0]} inequalities); give it more, or ask for fewer properties"
        )

    @cached_property
    def _rows(self) -> Any:
        """Every condition of the form: a sum of unknowns is at most 0."""
        from scipy.sparse import vstack

        return vstack([self._at_least(), *([self._worst()] if self.program.objective.worst else [])], format="csr")


def _attempts(program: Program) -> tuple[_Attempt, ...]:
    """Methods and tolerances, the faster method first, 1e-10 being the least that HiGHS takes."""
    large, close = _INTERIOR
    if program.largest >= large and program.promise.ratio >= close:
        return ("highs-ipm", 1e-10), ("highs-ipm", 1e-9), ("highs-ds", 1e-10), ("highs-ds", 1e-9)
    return ("highs-ds", 1e-10), ("highs-ipm", 1e-10), ("highs-ds", 1e-9)
