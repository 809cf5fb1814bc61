"""The search for frequent texts: prefixes of codes, extended byte by byte.

The prefixes of a level are one byte longer than those of the level before. The search extends every kept prefix by all
bytes that may follow, and keeps the KEPT times `texts` extensions with the highest scores. The score of a prefix is the
*minimum* over the levels so far of its estimate in standard errors. If only a few texts are frequent, the estimate of
the last level or the sum over the levels would be as good. If many are, collisions make the sum useless.
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

KEPT, LISTED = 4, 2  # prefixes kept on a level, and codes listed at the end, for each of the `texts` wanted


class Level(NamedTuple):
    """One level: the hash of its prefixes, the estimated share of every bucket, and the number of reports."""

    hash: LevelHash
    shares: Floats
    reports: int


def frequent_codes(code: Code, levels: Iterable[Level], oracle: BucketOracle, texts: int) -> Octets:
    """The codes of at most LISTED times `texts` texts, the most likely ones first."""
    prefixes = np.zeros((1, 0), dtype=np.uint8)
    states, scores = np.array([code.start()], dtype=np.int64), np.array([np.inf])
    variance_of_absent = float(oracle.moments.variance(np.zeros(1))[0])  # n Var of a bucket that no device has
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
