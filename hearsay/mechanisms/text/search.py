"""The search for frequent texts: prefixes of codes, extended byte by byte.

Each level asks about prefixes that are one byte longer. Every kept prefix is extended by all bytes that may follow, and
of all extensions the KEPT times `texts` best ones are kept. The score of a prefix is the *least* of its estimates on
all levels so far, in standard errors. For a few heavy texts the last level's estimate or the sum over levels would do
as well; but where many texts are frequent, collisions drown the sum.
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

KEPT, LISTED = 4, 2  # prefixes kept on a level, and codes listed at the end, for each text that is looked for


class Level(NamedTuple):
    """The estimates of one level: prefixes are hashed to buckets, whose shares come from so many reports."""

    hash: LevelHash
    shares: Floats
    reports: int


def frequent_codes(code: Code, levels: Iterable[Level], oracle: BucketOracle, texts: int) -> Octets:
    """The codes of at most LISTED times `texts` texts, the most likely ones first."""
    prefixes = np.zeros((1, 0), dtype=np.uint8)
    states, scores = np.array([code.start()], dtype=np.int64), np.array([np.inf])
    variance_of_absent = float(oracle.moments.variance(np.zeros(1))[0])  # n Var of a bucket that nobody is in
    for number, (level_hash, shares, reports) in enumerate(levels, start=1):
        stderr = sqrt(variance_of_absent / reports) if reports else np.inf
        # One row per prefix, one column per byte. Collisions alone give a bucket the share 1/buckets.
        above_chance = shares[level_hash.extended(prefixes)] - 1 / level_hash.buckets
        extended_states = code.step(number, states)
        extended_scores = np.minimum(scores[:, None], above_chance / stderr)
        extended_scores[extended_states == IMPOSSIBLE] = -np.inf
        best = _largest(extended_scores.reshape(-1), KEPT * texts)
        parent, byte = np.divmod(best, 256)
        prefixes = np.concatenate([prefixes[parent], byte[:, None].astype(np.uint8)], axis=1)
        states, scores = extended_states.reshape(-1)[best], extended_scores.reshape(-1)[best]
    codes_of_texts = [prefix for prefix in prefixes if code.decode(prefix) is not None][: LISTED * texts]
    return np.array(codes_of_texts, dtype=np.uint8).reshape(-1, code.size)


def _largest(scores: Floats, wanted: int) -> NDArray[np.intp]:
    """The indices of the `wanted` largest scores above -inf, largest first, equal ones in order."""
    candidates = np.flatnonzero(scores > -np.inf)
    if candidates.size > wanted:
        least = np.partition(scores[candidates], candidates.size - wanted)[candidates.size - wanted]
        candidates = candidates[scores[candidates] >= least]
    return candidates[np.argsort(-scores[candidates], kind="stable")][:wanted]
