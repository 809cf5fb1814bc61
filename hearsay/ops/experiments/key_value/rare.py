"""Means of rare keys: Fieller's interval compared with value +- 1.96 standard errors.

Over all surveys with an estimated share above 0 (others have no mean, and no plain interval) both have the right
coverage. But a rare key is of interest only if it seems to have holders: if its estimated share is above 4 standard
errors. Then the share is too large by chance, and both intervals contain the mean less often.
"""

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms import build
from hearsay.mechanisms.estimates.estimate import Z95
from hearsay.mechanisms.key_value.privkv import PrivKV
from hearsay.ops.experiments.output import Result

KEYS, REPORTS, MEAN = 20_000, 5_000, 0.5  # REPORTS about each key
SETTINGS = tuple((epsilon, errors) for epsilon in (1.0, 2.0, 4.0) for errors in (0.5, 1.0, 1.5))
SIGNIFICANT, FEWEST = 4.0, 100  # standard errors of a share; the least number of keys for a check


def rare(runs: int, generator: np.random.Generator) -> Result:
    """20,000 rare keys per run; each is a survey of its own."""
    result = Result(
        "rare-keys",
        f"Coverage of intervals of the means of rare keys, privkv, {REPORTS:,} reports per key, mean {MEAN:g}",
        ["epsilon", "share", "no mean", "plain", "fieller", "significant", "plain of these", "fieller of these"],
        [],
        f"{runs * KEYS:,} keys. A key whose estimated share is 0 or less has no mean, and no plain interval. plain, "
        "fieller: how many intervals contain the mean, of all keys, and of those with a significant share (above "
        f"{SIGNIFICANT:g} standard errors)",
    )
    for epsilon, errors in SETTINGS:
        mechanism = build({"mechanism": "privkv", "epsilon": epsilon, "domain": {"kind": "key-value", "keys": KEYS}})
        assert isinstance(mechanism, PrivKV)
        p, _, gap = mechanism.chances
        share = errors * float(np.sqrt(p * (1 - p) / REPORTS)) / gap
        hits = np.concatenate([_one_run(mechanism, share, generator) for _ in range(runs)], axis=1)
        has_mean, plain, fieller, significant = hits
        of_all = plain[has_mean].mean()
        of_these = [each[significant].mean() for each in (plain, fieller)] if significant.any() else []
        every = [f"{(~has_mean).mean():.0%}", f"{of_all:.1%}", f"{fieller.mean():.1%}", f"{significant.mean():.3%}"]
        result.rows.append([epsilon, f"{share:.2%}", *every, *([f"{each:.0%}" for each in of_these] or ["", ""])])
        result.expect(
            fieller.mean() >= 0.93, f"epsilon {epsilon:g}: {fieller.mean():.1%} of Fieller's intervals contain the mean"
        )
        result.expect(
            0.93 <= of_all <= 0.99, f"epsilon {epsilon:g}: {of_all:.1%} of all plain intervals contain the mean"
        )
        if significant.sum() >= FEWEST:
            result.expect(
                of_these[0] <= 0.9, f"epsilon {epsilon:g}: {of_these[0]:.0%} of the plain ones of significant keys"
            )
    return result


def _one_run(mechanism: PrivKV, share: float, generator: np.random.Generator) -> NDArray[np.bool_]:
    """For every key whether it has a mean, whether each interval contains it, and whether its share is significant."""
    true = np.array([1 - share, share * (1 - MEAN) / 2, share * (1 + MEAN) / 2])
    state = mechanism.empty()
    state["counts"][:, 0, :] = generator.multinomial(REPORTS, true @ mechanism.symbol_chances, size=KEYS)
    estimate = mechanism.estimate(state)
    means, shares = estimate.means, estimate.points(np.arange(KEYS))
    value, stderr = means.value.reshape(-1), means.stderr.reshape(-1)
    low, high = (end.reshape(-1) for end in means.ends())
    plain = np.abs(value - MEAN) <= Z95 * stderr
    fieller = (low <= MEAN) & (high >= MEAN)
    return np.stack([np.isfinite(value), plain, fieller, shares.value > SIGNIFICANT * shares.stderr])
