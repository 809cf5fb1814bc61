"""A mechanism of two rounds without noise, for tests of the pipeline: the second asks about the most frequent half.

The first round counts every value; what it makes public are the values that were seen most. The second round counts
which of those a device has, by its place among them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pytest

from hearsay.mechanisms import catalogue
from hearsay.mechanisms.base import State, Values
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.exact.counting import count_into
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.layout import Layout, Reports, Scalar
from hearsay.mechanisms.oracles import CELLS
from hearsay.mechanisms.tables import Form
from tests.identity import Identity

MECHANISMS = {"two-rounds": (Form(CELLS, ":TwoRounds"),)}


@dataclass(frozen=True)
class TwoRounds(Identity):
    """Reports the value itself, then its place among the chosen ones (or that it is none of them)."""

    ID = "two-rounds"
    chosen: tuple[int, ...] = field(default=())

    @property
    def rounds(self) -> int:
        return 2

    def in_round(self, history: Sequence[Mapping[str, Any]]) -> Self:
        return replace(self, chosen=tuple(history[-1]["chosen"])) if history else self

    def next_round(self, state: State) -> dict[str, Any] | None:
        if self.chosen:
            return None
        half = (self.domain.size + 1) // 2
        return {"chosen": np.argsort(-state["r1/hist"], kind="stable")[:half].tolist()}

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(Scalar("value", len(self.chosen) + 1 if self.chosen else self.domain.size))

    @property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {"r1/hist": (self.domain.size,), "r2/places": ((self.domain.size + 1) // 2 + 1,)}

    def perturb(self, values: Values, random: Random) -> Reports:
        cells = self.domain.flatten(values)
        if not self.chosen:
            return {"value": cells.astype(np.uint32)}
        places = np.full(self.domain.size, len(self.chosen), dtype=np.uint32)
        places[list(self.chosen)] = np.arange(len(self.chosen))
        return {"value": places[cells]}

    def fold(self, state: State, reports: Reports) -> State:
        count_into(state["r2/places" if self.chosen else "r1/hist"], reports["value"])
        return state

    def reports(self, state: State) -> int:
        return int(state["r1/hist"].sum() + state["r2/places"].sum())

    def estimate(self, state: State) -> CellEstimate:
        counts = state["r1/hist"].astype(np.float64)
        if self.chosen:
            counts = np.zeros(self.domain.size)
            counts[list(self.chosen)] = state["r2/places"][:-1]
        n = max(self.reports(state), 1)
        return CellEstimate(self.domain, n, counts / n, np.zeros_like(counts))


def rounds_table(size: int, name: str = "turns", **rounds: object) -> dict[str, object]:
    """A survey of two rounds."""
    return {
        "name": name,
        "mechanism": TwoRounds.ID,
        "epsilon": 1.0,
        "domain": {"kind": "categorical", "size": size},
        **({"rounds": rounds} if rounds else {}),
    }


@pytest.fixture(autouse=True)
def two_rounds_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adds it to the catalogue for the time of a test."""
    for name, (form,) in MECHANISMS.items():
        monkeypatch.setitem(catalogue.MECHANISMS, name, (catalogue.Listed(__name__, form),))
