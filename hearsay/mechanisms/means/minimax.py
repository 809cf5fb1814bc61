"""The channel with the least worst variance for the mean of one number, by a linear program.

Minimise the largest of  sum_y P(y|t) y^2 - t^2  over 17 numbers t and the middles between them, for 33 outputs y at
equal distances, where every row has the mean t and P(y|t) <= e^eps P(y|t'). The chances are then rounded to integers
out of 2^32, smallest of a column first, so that no ratio rises; what is rounded off goes where there is room. Its worst
n Var is 16.0, 4.0, 0.87, 0.13 at eps 0.5, 1, 2, 4, and nearly the same for every t; hybrid's 16.7, 4.3, 1.04, 0.22.

Numbers and outputs lie symmetric around 0, so the rows up to the middle one determine all.
"""

from fractions import Fraction
from functools import lru_cache
from math import exp
from typing import Any

import numpy as np

from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.thresholds import exponential
from hearsay.mechanisms.means.table import Rows, Table

WEIGHT = 1 << 32
NUMBERS, OUTPUTS = 17, 33
LARGEST_EPSILON = 10.0  # beyond, 17 numbers are too coarse: rounding between them would be most of the error
_REACHES = (0.7, 0.8, 0.9, 1.0)  # outermost output, in units of the piecewise mechanism's


def from_half(half: Rows) -> Table:
    """The table whose first rows, up to the middle one, are given; the others mirror them."""
    rows = [*half, *(tuple(reversed(row)) for row in reversed(half[:-1]))]
    centre = (len(half[0]) - 1) // 2
    return Table(tuple(rows), tuple(Fraction(output - centre) for output in range(len(half[0]))))


@lru_cache(maxsize=32)
def solve(epsilon: float) -> Rows:
    """The first nine rows of integer weights of the best channel."""
    if epsilon > LARGEST_EPSILON:
        raise SpecificationError(
            what="epsilon",
            expected=f'at most {LARGEST_EPSILON:g} for options.channel "minimax"',
            got=f"{epsilon:g}",
            ending='; use "hybrid"',
        )
    e = exp(epsilon / 2)
    solved = [_program(epsilon, reach * (e + 1) / (e - 1)) for reach in _REACHES]
    chances = min((solution for solution in solved if solution is not None), key=lambda solution: solution[0])[1]
    half = min(_integers(chances, epsilon), _two_points(epsilon), key=lambda rows: from_half(rows).worst_variance())
    from_half(half).check(epsilon)
    return half


def _two_points(epsilon: float) -> Rows:
    """Duchi's channel in the same shape: for the smallest epsilons the program gains less than rounding costs."""
    likely = int(WEIGHT * exponential(epsilon) / (exponential(epsilon) + 1))
    rows = []
    for number in range((NUMBERS + 1) // 2):
        left = WEIGHT // 2 + (likely - WEIGHT // 2) * (NUMBERS - 1 - 2 * number) // (NUMBERS - 1)
        rows.append((left, *(0,) * (OUTPUTS - 2), WEIGHT - left))
    return tuple(rows)


def _program(epsilon: float, reach: float) -> tuple[float, Floats] | None:
    """The worst variance and the first nine rows of chances; None where outputs do not reach far enough."""
    from scipy import sparse
    from scipy.optimize import linprog

    half = (NUMBERS + 1) // 2
    t, y = np.linspace(-1, 1, NUMBERS), np.linspace(-reach, reach, OUTPUTS)
    cells, e = half * OUTPUTS, exp(epsilon)
    unknowns = cells + OUTPUTS + 1  # chances, the smallest of every column, the worst variance

    def cell(row: int, output: int) -> int:
        mirrored = (NUMBERS - 1 - row) * OUTPUTS + OUTPUTS - 1 - output
        return row * OUTPUTS + output if row < half else mirrored

    bounds: list[dict[int, float]] = []
    limits: list[float] = []
    for row in range(NUMBERS):
        for output in range(OUTPUTS):
            bounds += [{cell(row, output): 1.0, cells + output: -e}, {cell(row, output): -1.0, cells + output: 1.0}]
            limits += [0.0, 0.0]
    for row in range(half):
        for number, parts in ((t[row], (row,)), ((t[row] + t[row + 1]) / 2, (row, row + 1))):
            entries: dict[int, float] = {unknowns - 1: -1.0}
            for part in parts:
                for output in range(OUTPUTS):
                    column = cell(part, output)
                    entries[column] = entries.get(column, 0.0) + y[output] ** 2 / len(parts)
            bounds.append(entries)
            limits.append(float(number**2))
    equal = [{cell(row, output): 1.0 for output in range(OUTPUTS)} for row in range(half)]
    equal += [{cell(row, output): float(y[output]) for output in range(OUTPUTS)} for row in range(half)]

    def matrix(entries: list[dict[int, float]]) -> Any:
        triples = [(number, column, value) for number, row in enumerate(entries) for column, value in row.items()]
        rows, columns, values = zip(*triples, strict=True)
        return sparse.csr_matrix((values, (rows, columns)), shape=(len(entries), unknowns))

    goal = np.zeros(unknowns)
    goal[-1] = 1.0
    wanted = np.concatenate([np.ones(half), t[:half]])
    solution: Any = linprog(goal, matrix(bounds), limits, matrix(equal), wanted, bounds=(0, None), method="highs")
    return (float(solution.fun), solution.x[:cells].reshape(half, OUTPUTS)) if solution.status == 0 else None


def _integers(chances: Floats, epsilon: float) -> Rows:
    """Weights out of 2^32 that keep every ratio, and the symmetry of the middle row."""
    every = np.vstack([chances, chances[:-1][::-1, ::-1]])
    smallest = np.maximum(np.minimum(every.min(axis=0), every.min(axis=0)[::-1]), 0.0)
    low = [int(share * WEIGHT) for share in smallest]
    e = exponential(epsilon)
    high = [int(e * weight) for weight in low]
    rows = []
    for number, row in enumerate(chances):
        if number == len(chances) - 1:
            row = (row + row[::-1]) / 2
        weights = [min(max(round(share * WEIGHT), a), b) for share, a, b in zip(row, low, high, strict=True)]
        rows.append(_filled(weights, low, high, middle=number == len(chances) - 1))
    return tuple(rows)


def _filled(weights: list[int], low: list[int], high: list[int], middle: bool) -> tuple[int, ...]:
    """Move what is missing (or too much) to where there is room, likeliest outputs first; pairs in the middle row."""
    missing = WEIGHT - sum(weights)
    centre = len(weights) // 2
    if middle and missing % 2:
        weights[centre] += 1 if weights[centre] < high[centre] else -1
        missing = WEIGHT - sum(weights)
    for output in sorted(range(len(weights)), key=lambda at: -weights[at]):
        twin = len(weights) - 1 - output
        share = 2 if middle and output != twin else 1
        if middle and (output == centre or output > twin):
            continue
        room = high[output] - weights[output] if missing > 0 else low[output] - weights[output]
        moved = max(min(room, missing // share), 0) if missing > 0 else min(max(room, -(-missing // share)), 0)
        weights[output] += moved
        if share == 2:
            weights[twin] += moved
        missing -= share * moved
    if missing:
        raise SpecificationError(f"epsilon leaves no room to round the channel's chances, {missing} of 2^32 are left")
    return tuple(weights)
