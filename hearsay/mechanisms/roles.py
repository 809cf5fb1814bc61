"""What each of the three roles needs of a mechanism, as a protocol. `Mechanism` fulfils all three.

The type of a function's argument says in which role it runs: a function of a `DeviceSide` never sees a state, one of a
`WorkerSide` never sees a value, and one of an `EstimatorSide` never sees a report.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State, Values
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.guarantees.promises import Guarantee
from hearsay.mechanisms.layout import Layout, Reports


class DeviceSide(Protocol):
    """Turns a value into a report."""

    @property
    def domain(self) -> Domain: ...

    @property
    def layout(self) -> Layout: ...

    @property
    def guarantee(self) -> Guarantee: ...

    def perturb(self, values: Values, random: Random) -> Reports:
        """Private reports of values, one each."""


class WorkerSide(Protocol):
    """Adds reports to a state."""

    @property
    def layout(self) -> Layout: ...

    @property
    def arrays(self) -> Mapping[str, tuple[int, ...]]: ...

    def empty(self) -> State:
        """A state without reports."""

    def valid(self, reports: Reports) -> NDArray[np.bool_] | None:
        """Which reports could have come from a device; None: all of them."""

    def fold(self, state: State, reports: Reports) -> State:
        """Add valid reports to the state, in place."""


class EstimatorSide(Protocol):
    """Reads a state."""

    @property
    def arrays(self) -> Mapping[str, tuple[int, ...]]: ...

    @property
    def rounds(self) -> int: ...

    def empty(self) -> State:
        """A state without reports."""

    def reports(self, state: State) -> int:
        """How many reports the state holds."""

    def estimate(self, state: State) -> Estimate:
        """What the reports say."""

    def next_round(self, state: State) -> dict[str, Any] | None:
        """What the next round makes public; None: this was the last one."""
