"""Which characters to ask for how often: level weights, one character or three a report.

A character of level j is part of m_j = C(d-j, k-j) marginals of k attributes, and its variance goes as 1/pi_a. The sum
over all these marginals is least where a character is drawn in proportion to sqrt(m_j): low levels, which all marginals
share, more often. `weights = "uniform"` takes m_j = 1: Kulkarni's even draw.

t = 1   Groups are the levels.
t = 2   Draw disjoint sets of attributes X, Y, Z, of sizes (x, y, z) with pairwise sums in 1..k; the characters XY, YZ
        and XZ span a subspace, so one value out of four shows all three. Groups are the types (x, y, z); with n_tj of
        the three at level j, q_j = sum p_t n_tj and e_j characters at level j, the sum to be least is
        sum e_j^2 m_j / q_j, and p_t <- p_t sqrt(sum_j n_tj e_j^2 m_j / q_j^2), normalised, goes down to it.
"""

from itertools import product
from math import comb, sqrt

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.marginals.characters.code import Code, Masks
from hearsay.mechanisms.marginals.characters.coefficients import Coefficients
from hearsay.mechanisms.marginals.characters.subspaces import MAXIMUM_SUBSPACES, Subspaces, rounded

WEIGHTS = ("levels", "uniform")
T2_FROM_EPSILON = 0.55  # below it three characters with a smaller correlation say less than one
_STEPS = 2_000
_NEGLIGIBLE = 1e-4  # a type this rare is left out: its characters are reached by others
Type = tuple[int, int, int]


def importance(attributes: int, order: int, weights: str) -> list[float]:
    """m_j, j = 1..k."""
    if weights == "uniform":
        return [1.0] * order
    return [float(comb(attributes - level, order - level)) for level in range(1, order + 1)]


def one_character(coefficients: Coefficients, weights: str) -> Subspaces:
    """t = 1: one character per report."""
    shares = [
        size * sqrt(m)
        for size, m in zip(
            coefficients.sizes, importance(len(coefficients.code.sizes), coefficients.order, weights), strict=True
        )
    ]
    return Subspaces(coefficients, coefficients.masks[:, None], coefficients.sizes, tuple(rounded(shares)))


def three_characters(coefficients: Coefficients, weights: str) -> Subspaces:
    """t = 2: three characters per report."""
    code, order = coefficients.code, coefficients.order
    types = [kind for kind in possible_types(order) if sum(kind) <= len(code.sizes)]
    if not types:
        raise SpecificationError(
            what="options.t",
            expected="1 where the order or the number of attributes is 1",
            got=f"order {order} and {len(code.sizes)} attributes",
        )
    shares = type_shares(types, list(coefficients.sizes), importance(len(code.sizes), order, weights))
    kept = [(kind, share) for kind, share in zip(types, shares, strict=True) if share > _NEGLIGIBLE]
    expected = sum(subspaces_of(code, kind) for kind, _ in kept)
    if expected > MAXIMUM_SUBSPACES:
        raise SpecificationError(
            what="options.t",
            expected="1 for this domain",
            ending=f": it has {expected} sets of three characters, at most {MAXIMUM_SUBSPACES} can be listed",
        )
    groups = [_generators(coefficients, kind) for kind, _ in kept]
    sizes = tuple(len(group) for group in groups)
    return Subspaces(coefficients, np.concatenate(groups), sizes, tuple(rounded([share for _, share in kept])))


def possible_types(order: int) -> list[Type]:
    """Sizes x <= y <= z of three disjoint sets whose pairwise sums lie in 1..order."""
    sizes = range(order + 1)
    return [(x, y, z) for x, y, z in product(sizes, repeat=3) if x <= y <= z and x + y >= 1 and y + z <= order]


def characters_by_level(kind: Type, order: int) -> list[int]:
    """n_tj: how many of XY, YZ, XZ have level j, j = 1..order."""
    x, y, z = kind
    levels = (x + y, y + z, x + z)
    return [levels.count(level) for level in range(1, order + 1)]


def type_shares(types: list[Type], level_sizes: list[int], m: list[float]) -> list[float]:
    """p_t of every type, for the least sum over all marginals."""
    order = len(level_sizes)
    shows = [characters_by_level(kind, order) for kind in types]
    p = [1 / len(types)] * len(types)
    for _ in range(_STEPS):
        q = [sum(share * row[level] for share, row in zip(p, shows, strict=True)) for level in range(order)]
        gain = [level_sizes[level] ** 2 * m[level] / q[level] ** 2 if q[level] else 0.0 for level in range(order)]
        p = [
            share * sqrt(sum(n * g for n, g in zip(row, gain, strict=True)))
            for share, row in zip(p, shows, strict=True)
        ]
        total = sum(p)
        p = [share / total for share in p]
    return p


def subspaces_of(code: Code, kind: Type) -> int:
    """N_t: how many subspaces a type has."""
    # The coefficient of u^x v^y w^z in the product over attributes of 1 + (K_i - 1)(u + v + w).
    counts = {(0, 0, 0): 1}
    for bits in code.bits:
        more = dict(counts)
        for (a, b, c), number in counts.items():
            for grown in ((a + 1, b, c), (a, b + 1, c), (a, b, c + 1)):
                if all(have <= want for have, want in zip(grown, kind, strict=True)):
                    more[grown] = more.get(grown, 0) + number * ((1 << bits) - 1)
        counts = more
    x, y, z = kind
    alike = 6 if x == y == z else 2 if x == y or y == z else 1
    return counts.get(kind, 0) // alike


def _generators(coefficients: Coefficients, kind: Type) -> Masks:
    """XY and YZ of every subspace of a type, one row each; sets of equal size in one order only."""
    x, y, z = (_of_level(coefficients, level) for level in kind)
    rows = []
    for first in range(x.size):
        seconds = _free(x[first], y, coefficients.code, first if kind[0] == kind[1] else -1)
        for second in seconds:
            after = int(second) if kind[1] == kind[2] else -1
            thirds = z[_free(x[first] | y[second], z, coefficients.code, after)]
            rows.append(np.stack([np.full(thirds.size, x[first] | y[second]), y[second] | thirds], axis=1))
    return np.concatenate(rows)


def _of_level(coefficients: Coefficients, level: int) -> Masks:
    """The characters that touch exactly so many attributes; of none, the empty one."""
    if level == 0:
        return np.zeros(1, dtype=np.uint64)
    return coefficients.masks[coefficients.levels == level]


def _free(used: np.uint64, characters: Masks, code: Code, after: int) -> NDArray[np.intp]:
    """Places behind `after` of the characters that touch no attribute of those used."""
    touched = used
    for bits, shift in zip(code.bits, code.shifts, strict=True) if max(code.bits) > 1 else ():
        own = np.uint64(((1 << bits) - 1) << shift)
        touched |= own if used & own else np.uint64(0)
    return after + 1 + np.flatnonzero((characters[after + 1 :] & touched) == 0)
