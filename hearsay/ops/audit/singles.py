"""Single reports as bytes, by the code of devices: batches use other code, and the length of the bytes may leak.

The time of each report is shown but not tested: on a busy machine it says nothing about the mechanism.
"""

from dataclasses import dataclass
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.collector.survey.survey import Survey
from hearsay.collector.wire.codec import codec
from hearsay.mechanisms import Mechanism, Reports
from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.layout import select
from hearsay.ops.audit.events import rows_of
from hearsay.ops.errors import OperationError
from hearsay.producer.device import Device


class Crowd(Device):
    """Stands for many devices, none of which reports twice."""

    def _warn_of_repeats(self) -> None:
        return


class Voice:
    """Devices that report any value, given by its index."""

    def __init__(self, mechanism: Mechanism, random: Random) -> None:
        self._mechanism, self._random = mechanism, random
        self._device = Crowd(Survey("audit", mechanism, None, None, 1), random)
        self._given = cache(self._value)

    def report(self, value: int) -> bytes:
        """The bytes of one report."""
        given = self._given(value)
        if isinstance(self._mechanism.domain, Cells):
            return self._device.report(given)
        return codec(self._mechanism).encode_singles(self._mechanism.perturb(given, self._random))[0]

    def _value(self, index: int) -> Any:
        """As the device takes it, or as a row of values."""
        domain = self._mechanism.domain
        return own_units(domain, index) if isinstance(domain, Cells) else rows_of(self._mechanism, np.array([index]))


def own_units(domain: Cells, value: int) -> Any:
    """A value as a person gives it; of a bin its lower end."""
    item, cell = domain.name(value)
    given = [item] if cell is None else list(cell.values())
    plain = [each[0] if isinstance(each, list) else each for each in given]
    return plain[0] if cell is None else plain


@dataclass(frozen=True)
class Singles:
    """Single reports of some values: decoded, their lengths in bytes, and the median time that one took."""

    reports: dict[int, Reports]
    lengths: dict[int, NDArray[np.int64]]
    microseconds: dict[int, float]


def draw_singles(mechanism: Mechanism, values: list[int], count: int, random: Random) -> Singles:
    """So many reports of each value, drawn in turns."""
    voice, wire = Voice(mechanism, random), codec(mechanism)
    made: dict[int, list[bytes]] = {value: [] for value in values}
    took: dict[int, list[float]] = {value: [] for value in values}
    for _ in range(count):
        for value in values:
            began = perf_counter()
            made[value].append(voice.report(value))
            took[value].append(perf_counter() - began)
    return Singles(
        {value: _decoded(wire, payloads) for value, payloads in made.items()},
        {value: np.array([len(payload) for payload in payloads]) for value, payloads in made.items()},
        {value: 1e6 * float(np.median(times)) for value, times in took.items()},
    )


def _decoded(wire: Any, payloads: list[bytes]) -> Reports:
    refused: list[str] = []
    parts = wire.decode_singles(payloads, lambda position, reason: refused.append(reason))
    if refused:
        raise OperationError(
            what="a device's report",
            expected="one that collectors take",
            ending=f", but it was refused as {refused[0]}",
        )
    order = np.concatenate([positions for positions, _ in parts])
    return select(wire.layout.concatenate([reports for _, reports in parts]), np.argsort(order))
