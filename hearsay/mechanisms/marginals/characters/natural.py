"""The natural form for attributes of many values: a set of k attributes by linear hashing, its characters pooled.

Draw a set S of k attributes with pi_S in proportion to R_S^(2/3), R_S its number of cells: a cell's variance goes as
1/pi_S and a table's total error as R_S standard deviations, so this makes the sum over all sets least. Then hash the
value's bits on S to t bits by a_i = x^(i-1) a, a a random non-zero element of GF(2^bits), as `olh` does. Each of the
2^t - 1 characters shown belongs to every set that contains it: all of them help to estimate it.
"""

from itertools import combinations
from math import exp

import numpy as np

from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.marginals.characters.code import Attributes, Code, Masks
from hearsay.mechanisms.marginals.characters.coefficients import Coefficients
from hearsay.mechanisms.marginals.characters.subspaces import MAXIMUM_SUBSPACES, Subspaces, rounded
from hearsay.mechanisms.oracles.linear_hashing import LOW_TERMS

MAXIMUM_T = 5  # more than e^5 / 2 buckets help nobody


def best_t(epsilon: float) -> int:
    """Bits of the hash with the least variance on a large set."""
    e = exp(epsilon)
    return min(range(1, MAXIMUM_T + 1), key=lambda t: (e - 1 + 2**t) ** 2 / ((e - 1) ** 2 * (2**t - 1)))


def natural(coefficients: Coefficients, t: int) -> Subspaces:
    """Groups are the sets of k attributes, a subspace is a hash."""
    code = coefficients.code
    sets = list(combinations(range(len(code.sizes)), coefficients.order))
    expected = sum(code.codes(chosen) - 1 for chosen in sets)
    if expected > MAXIMUM_SUBSPACES:
        raise SpecificationError(
            what="options.code",
            expected='"binary" for this domain',
            ending=f": its sets of {coefficients.order} attributes have {expected} hashes, at most "
            f"{MAXIMUM_SUBSPACES} can be listed",
        )
    generators = np.concatenate([_hashes(code, chosen, t) for chosen in sets])
    shares = rounded([code.cells(chosen) ** (2 / 3) for chosen in sets])
    return Subspaces(coefficients, generators, tuple(code.codes(chosen) - 1 for chosen in sets), tuple(shares))


def largest_t(code: Code, order: int, wanted: int) -> int:
    """The t asked for, or as many bits as the smallest set of k attributes has."""
    return min(wanted, sum(sorted(code.bits)[:order]))


def _hashes(code: Code, chosen: Attributes, t: int) -> Masks:
    """a_1 .. a_t for every non-zero a of the set's own field, as masks of the whole code."""
    bits = sum(code.bits[attribute] for attribute in chosen)
    rows = [np.arange(1, 1 << bits, dtype=np.uint64)]
    for _ in range(t - 1):
        last = rows[-1]
        carried = np.uint64(LOW_TERMS[bits]) * (last >> np.uint64(bits - 1))
        rows.append(((last << np.uint64(1)) & np.uint64((1 << bits) - 1)) ^ carried)
    masks = code.characters(chosen)
    return np.stack([masks[row.astype(np.intp)] for row in rows], axis=1)
