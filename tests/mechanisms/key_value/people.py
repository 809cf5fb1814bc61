"""What the tests of this family share: small domains, people with known answers, and runs over many draws."""

from typing import Any

import numpy as np

from hearsay.mechanisms.domains.axis import Axis
from hearsay.mechanisms.key_value.domain import KeyValue, ValueAxis
from hearsay.mechanisms.key_value.pairs import Pairs

ONE_IN_A_MILLION = 4.9  # two-sided normal point


def domain(keys: int, dimensions: int = 1, ordered: bool = False) -> KeyValue:
    """So many keys with values in -1..1."""
    names = [f"value{number}" for number in range(dimensions)] if dimensions > 1 else ["value"] * dimensions
    return KeyValue((Axis("key", keys),), tuple(ValueAxis(name, -1.0, 1.0) for name in names), ordered)


def people(shares: Any, means: Any, devices: int, seed: int = 1) -> Pairs:
    """Devices that hold key k with probability shares[k], and values means[k] there (a row a dimension)."""
    generator = np.random.default_rng(seed)
    device, key = np.nonzero(generator.random((devices, len(shares))) < np.asarray(shares))
    return Pairs.grouped(device, key, np.atleast_2d(np.asarray(means, dtype=np.float64).T).T[key], devices)


def truth(pairs: Pairs, keys: int) -> tuple[np.ndarray, np.ndarray]:
    """Share of holders and mean value of every key."""
    held = np.bincount(pairs.keys, minlength=keys)
    sums = np.stack([np.bincount(pairs.keys, column, minlength=keys) for column in pairs.values.T], axis=1)
    return held / len(pairs), sums / np.maximum(held, 1)[:, None]


def worst_loss(channel: np.ndarray) -> float:
    """The largest log ratio between any two rows."""
    np.testing.assert_allclose(channel.sum(axis=1), 1.0, atol=1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = channel.max(axis=0) / channel.min(axis=0)
    return float(np.log(ratio[channel.max(axis=0) > 0].max()))
