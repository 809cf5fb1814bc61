"""High-low Hadamard response: sensitive values hide among all values, the others say more often what they are.

Device    s sensitive values, S = 2^ceil(log2(s+1)), outputs 0..S-1 and one more for each other value. A sensitive value
          reports a position below S by Hadamard response, p = e/(e+1). Another value reports its own output with
          probability r = (e-1)/(e+1), else a uniform position below S.
Privacy   Under a sensitive value a position has probability 2p/S or 2(1-p)/S, under another value (1-r)/S: no output is
          over e^eps times likelier under a sensitive value. Nothing is promised for the others (C definition 3).
Estimate  sensitive: WHT(hist[:S])[i+1]/(n c), c = 2p - 1; the others: hist[S+j]/(n r)           C (15), (16), row i+1
Variance  sensitive: [share of reports below S - c^2 f]/(n c^2); the others: f(1-r)/(n r)
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State, Values
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.intervals import Spread, scored_cells, wilson_high
from hearsay.mechanisms.exact.hadamard import walsh_hadamard
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.exact.thresholds import down, exponential, log_ratio, probability
from hearsay.mechanisms.guarantees.promises import Guarantee, HighLow
from hearsay.mechanisms.layout import Reports, smallest_unsigned
from hearsay.mechanisms.oracles.hadamard_response import PositionCoin, chances, positions, respond

_NAMED = 8  # a longer list of sensitive values is cut in words


@dataclass(frozen=True)
class HighLowHadamardResponse(PositionCoin):
    """Protects the domain's sensitive values only."""

    PROMISE = "high-low"
    ID = "highlow-hr"
    SUMMARY = "protects the values listed as sensitive and spends no noise on hiding the others from each other"
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {"epsilon": 1.0, "domain": {"kind": "categorical", "size": 8, "sensitive": [1, 4, 5]}},
        {
            "epsilon": 0.5,
            "domain": {"kind": "categorical", "categories": ["flu", "hiv", "none"], "sensitive": ["flu", "hiv"]},
        },
    )

    def check(self) -> None:
        if self.domain.sensitive is None:
            raise SpecificationError("domain.sensitive is missing; mechanism highlow-hr needs the list of such values")

    @property
    def sensitive(self) -> tuple[int, ...]:
        return self.domain.sensitive or ()

    @property
    def guarantee(self) -> Guarantee:
        named = [str(self.domain.axes[0].item(cell)) for cell in self.sensitive]
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        return HighLow(self.epsilon, self.sensitive, ", ".join(named[:_NAMED]) + more)

    @cached_property
    def tell(self) -> int:
        """Threshold out of 2^64 that another value reports its own output."""
        e = exponential(self.epsilon)
        return down((e - 1) / (e + 1))

    @property
    def spent_epsilon(self) -> float:
        p, r = probability(self.keep), probability(self.tell)
        among_sensitive = log_ratio(p, 1 - p) if len(self.sensitive) > 1 else 0.0
        against_others = log_ratio(2 * p, 1 - r) if len(self.sensitive) < self.domain.size else 0.0
        return max(among_sensitive, against_others)

    @cached_property
    def positions(self) -> int:
        """S: outputs that any value may give."""
        return positions(len(self.sensitive))

    @cached_property
    def positions_of_values(self) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """For every cell: is it sensitive; its row number (from 1) if it is, else its own output."""
        hidden = np.zeros(self.domain.size, dtype=bool)
        hidden[list(self.sensitive)] = True
        position = np.empty(self.domain.size, dtype=np.int64)
        position[hidden] = np.arange(1, len(self.sensitive) + 1)
        position[~hidden] = self.positions + np.arange(self.domain.size - len(self.sensitive))
        return hidden, position

    @cached_property
    def outputs(self) -> int:
        return self.positions + self.domain.size - len(self.sensitive)

    def perturb(self, values: Values, random: Random) -> Reports:
        cells = self.domain.flatten(values)
        hidden, position = self.positions_of_values
        own, secret = position[cells], hidden[cells]
        # Everything is drawn for every value, then one draw is used: the time must not reveal whether a value is
        # sensitive.
        output = random.below(self.positions, cells.size).astype(np.int64)
        rows = np.where(secret, own, 1).astype(np.uint64)
        answer = respond(rows, self.positions, self.keep, random).astype(np.int64)
        truthful = random.bernoulli(self.tell, cells.size)
        output = np.where(secret, answer, np.where(truthful, own, output))
        return {"output": output.astype(smallest_unsigned(self.outputs))}

    def estimate(self, state: State) -> CellEstimate:
        n = self.reports(state)
        hidden, position = self.positions_of_values
        shares = state["hist"] / max(n, 1)
        spectrum = walsh_hadamard(shares[: self.positions])
        c, r = self.correlation, float(probability(self.tell))
        f = np.empty(self.domain.size)
        f[hidden] = spectrum[position[hidden]] / c
        f[~hidden] = shares[position[~hidden]] / r
        below = wilson_high(float(shares[: self.positions].sum()), n)
        observed = Spread(np.where(hidden, below / c**2, 0.0), np.where(hidden, -1.0, (1 - r) / r))
        # A sensitive value reports below S itself, and so does everybody else with probability 1 - r.
        least = Spread(np.where(hidden, (1 - r) / c**2, 0.0), np.where(hidden, r / c**2 - 1, (1 - r) / r))
        return scored_cells(self.domain, n, f, (observed, least), np.where(hidden, 2 / c, 1 / r))

    def channel(self) -> NDArray[np.float64]:
        hidden, position = self.positions_of_values
        r = probability(self.tell)
        table = np.zeros((self.domain.size, self.outputs))
        table[hidden, : self.positions] = chances(position[hidden], self.positions, self.keep)
        table[~hidden, : self.positions] = float((1 - r) / self.positions)
        table[np.flatnonzero(~hidden), position[~hidden]] = float(r)
        return table

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """For values equally frequent, averaged over the cells."""
        size, s, c, r = self.domain.size, len(self.sensitive), self.correlation, float(probability(self.tell))
        hidden = (s / size + (1 - s / size) * (1 - r)) / c**2 - 1 / size
        total = s * hidden + (size - s) * (1 - r) / r / size
        return {"point": float(np.sqrt(total / size / reports))}
