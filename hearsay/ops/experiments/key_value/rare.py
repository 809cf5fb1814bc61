"""Means of keys that hardly anybody holds: Fieller's interval beside value +- 1.96 standard errors.

Only where a rare key seems to be held (its share is above 4 standard errors) does anybody look at its mean, and that is
where the plain interval fails.
"""

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms import build
from hearsay.mechanisms.estimates.estimate import Z95
from hearsay.mechanisms.key_value.privkv import PrivKV
from hearsay.ops.experiments.output import Result

KEYS, REPORTS, MEAN = 20_000, 5_000, 0.5  # REPORTS about each key
SETTINGS = tuple((epsilon, errors) for epsilon in (1.0, 2.0, 4.0) for errors in (0.5, 1.0))
SEEMS_HELD = 4.0


def rare(runs: int, generator: np.random.Generator) -> Result:
    """20,000 rare keys a run: each is a survey of its own."""
    result = Result(
        "rare-keys",
        f"means of rare keys, privkv, {REPORTS:,} reports about each key, mean {MEAN:g}",
        ["epsilon", "share", "plain", "fieller", "seem held", "plain of these", "fieller of these"],
        [],
        f"{runs * KEYS:,} keys; how many intervals contain the mean, of all keys, and of those whose share seems above "
        f"{SEEMS_HELD:g} standard errors",
    )
    for epsilon, errors in SETTINGS:
        mechanism = build({"mechanism": "privkv", "epsilon": epsilon, "domain": {"kind": "key-value", "keys": KEYS}})
        assert isinstance(mechanism, PrivKV)
        p, _, gap = mechanism.chances
        share = errors * float(np.sqrt(p * (1 - p) / REPORTS)) / gap
        hits = np.concatenate([_one_run(mechanism, share, generator) for _ in range(runs)], axis=1)
        plain, fieller, seems_held = hits
        looked_at = [f"{each[seems_held].mean():.0%}" if seems_held.any() else "" for each in (plain, fieller)]
        every = [f"{plain.mean():.1%}", f"{fieller.mean():.1%}", f"{seems_held.mean():.3%}"]
        result.rows.append([epsilon, f"{share:.2%}", *every, *looked_at])
        result.expect(fieller.mean() >= 0.93, f"epsilon {epsilon:g}: {fieller.mean():.1%} of Fieller's intervals hold")
    return result


def _one_run(mechanism: PrivKV, share: float, generator: np.random.Generator) -> NDArray[np.bool_]:
    """For every key whether the plain and Fieller's interval hold, and whether it seems to be held."""
    true = np.array([1 - share, share * (1 - MEAN) / 2, share * (1 + MEAN) / 2])
    state = mechanism.empty()
    state["counts"][:, 0, :] = generator.multinomial(REPORTS, true @ mechanism.symbol_chances, size=KEYS)
    estimate = mechanism.estimate(state)
    means, shares = estimate.means, estimate.points(np.arange(KEYS))
    value, stderr = means.value.reshape(-1), means.stderr.reshape(-1)
    low, high = (end.reshape(-1) for end in means.ends())
    plain = np.abs(value - MEAN) <= Z95 * stderr
    return np.stack([plain, (low <= MEAN) & (high >= MEAN), shares.value > SEEMS_HELD * shares.stderr])
