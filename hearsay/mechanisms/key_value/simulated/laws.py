"""Simulated holders of key-value pairs: devices hold keys independently, each with its own share and mean value.

The synthetic data of the paper (Ye et al. 2019), with constants that agree with its table III within 2%. f is the share
of holders of key k, m the mean of their values.

GAUSS   f = .606 b, m = -.8107 + 1.6793 b with b = exp(-(k - 49.5)^2/800), 100 keys; for d keys the bell is stretched.
LNR     f = .4003 + .07746 (x - .5005), m = -1 + 2 x, x = k/d, 1000 keys.
PLAW    f = k^-0.6, m = -.9963 + 1.9737 k^-0.6, k from 1, 100 keys. (Table III has an average mean of -0.0723; with the
        variance .0656 and these shares it is probably -0.723.)
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.errors import SpecificationError, one_of
from hearsay.mechanisms.key_value.pairs import Pairs

Floats = NDArray[np.float64]
_DEVICES_AT_ONCE = 1 << 16  # device numbers then have 16 bits, which are sorted fastest


def _gauss(keys: int) -> tuple[Floats, Floats]:
    position = np.arange(keys, dtype=np.float64) * (100 / keys)
    bell = np.exp(-((position - 49.5) ** 2) / 800)
    return 0.606 * bell, -0.8107 + 1.6793 * bell


def _linear(keys: int) -> tuple[Floats, Floats]:
    x = np.arange(1, keys + 1, dtype=np.float64) / keys
    return 0.4003 + 0.07746 * (x - 0.5005), -1 + 2 * x


def _power_law(keys: int) -> tuple[Floats, Floats]:
    falling = np.arange(1, keys + 1, dtype=np.float64) ** -0.6
    return falling, -0.9963 + 1.9737 * falling


_LAWS: dict[str, Callable[[int], tuple[Floats, Floats]]] = {
    "gauss": _gauss,
    "linear": _linear,
    "power-law": _power_law,
}
LAWS = tuple(_LAWS)
SPREAD = 0.3  # of simulated values around their key's mean


@dataclass(frozen=True)
class PairLaw:
    """For every key the share of holders, and the mean of their values in -1..1; keys are held independently."""

    share: Floats
    mean: Floats
    spread: float = 0.0  # values are uniform within this distance of the mean, or less if -1..1 ends before

    @classmethod
    def named(cls, name: str, keys: int, spread: float = 0.0) -> "PairLaw":
        """One of the paper's laws."""
        if name not in _LAWS:
            raise SpecificationError(what="distribution", expected=f"one of {one_of(LAWS, name)}", got=repr(name))
        return cls(*_LAWS[name](keys), spread)

    def draw(self, devices: int, dimensions: int, generator: np.random.Generator) -> Pairs:
        """The pairs of so many devices; the time is proportional to the pairs, not to devices times keys."""
        return Pairs.join(
            [
                self._some(min(_DEVICES_AT_ONCE, devices - start), dimensions, generator)
                for start in range(0, max(devices, 1), _DEVICES_AT_ONCE)
            ]
        )

    def _some(self, devices: int, dimensions: int, generator: np.random.Generator) -> Pairs:
        """The pairs of at most `_DEVICES_AT_ONCE` devices."""
        holders, counts = [], []
        for share in self.share.tolist():
            of_key = _holders(devices, share, generator)
            holders.append(of_key)
            counts.append(of_key.size)
        device = np.concatenate(holders).astype(np.uint16)
        keys = np.repeat(np.arange(len(self.share)), counts)
        order = np.argsort(device, kind="stable")  # stable, so the keys of a device stay in ascending order
        keys = keys[order]
        starts = np.zeros(devices + 1, dtype=np.int64)
        np.cumsum(np.bincount(device, minlength=devices), out=starts[1:])
        values = np.repeat(self.mean[keys][:, None], dimensions, axis=1)
        if self.spread:
            reach = np.minimum(self.spread, 1 - np.abs(values))
            values += reach * generator.uniform(-1.0, 1.0, values.shape)
        return Pairs(starts, keys, values)


def _holders(devices: int, share: float, generator: np.random.Generator) -> NDArray[np.int64]:
    """The numbers of the devices that hold a key, each independently, from geometric gaps between them."""
    if share <= 0:
        return np.zeros(0, dtype=np.int64)
    parts: list[NDArray[np.int64]] = []
    last = -1
    while last < devices:
        expected = (devices - last) * share
        gaps = generator.geometric(min(share, 1.0), int(expected + 5 * np.sqrt(expected) + 10))
        part = last + np.cumsum(gaps)
        parts.append(part)
        last = int(part[-1])
    numbers = np.concatenate(parts)
    return numbers[numbers < devices]
