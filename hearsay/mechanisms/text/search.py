"""The search for frequent texts: prefixes of codes, extended byte by byte.

Every kept prefix is extended by all bytes that may follow, and the 4 `texts` best are kept. A prefix is worth the
*least* of its levels' estimates, in standard errors. The last level alone, or the sum over levels, is as good for a few
heavy texts; but where many are frequent, collisions drown the sum.
"""

from collections.abc import Iterable
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.text.bucket_oracle import BucketOracle
from hearsay.mechanisms.text.code import IMPOSSIBLE, Code, Octets
from hearsay.mechanisms.text.hashing import LevelHash

KEPT, LISTED = 4, 2  # prefixes that are kept and codes that are listed, for each text that is looked for


class Level(NamedTuple):
    """What one question about prefixes says: the share of every bucket, from so many reports."""

    hash: LevelHash
    shares: Floats
    reports: int


def frequent_codes(code: Code, levels: Iterable[Level], oracle: BucketOracle, texts: int) -> Octets:
    """The codes of at most 2 `texts` texts, the most likely ones first."""
    prefixes = np.zeros((1, 0), dtype=np.uint8)
    states, worth = np.array([code.start()], dtype=np.int64), np.array([np.inf])
    rare = float(oracle.moments.variance(np.zeros(1))[0])
    for number, (hashed, shares, reports) in enumerate(levels, start=1):
        error = sqrt(rare / reports) if reports else np.inf
        extended = code.step(number, states)
        scores = np.minimum(worth[:, None], (shares[hashed.extended(prefixes)] - 1 / hashed.buckets) / error)
        scores[extended == IMPOSSIBLE] = -np.inf
        best = _largest(scores.reshape(-1), KEPT * texts)
        parent, byte = np.divmod(best, 256)
        prefixes = np.concatenate([prefixes[parent], byte[:, None].astype(np.uint8)], axis=1)
        states, worth = extended.reshape(-1)[best], scores.reshape(-1)[best]
    spelled = [row for row in prefixes if code.decode(row) is not None][: LISTED * texts]
    return np.array(spelled, dtype=np.uint8).reshape(-1, code.size)


def _largest(scores: Floats, wanted: int) -> NDArray[np.intp]:
    """Where the largest finite scores stand, largest first, equal ones in order."""
    candidates = np.flatnonzero(scores > -np.inf)
    if candidates.size > wanted:
        least = np.partition(scores[candidates], candidates.size - wanted)[candidates.size - wanted]
        candidates = candidates[scores[candidates] >= least]
    return candidates[np.argsort(-scores[candidates], kind="stable")][:wanted]
