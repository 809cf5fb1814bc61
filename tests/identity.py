"""Mechanisms without noise, for tests of the pipeline only: every report falls into a bucket of its own.

A bucket with 0 proves a loss and one with 2 a double count. They protect nobody and are never registered outside a
test; processes of a test load them as the plugin `tests.identity`.
"""

import os
import signal
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from hearsay.mechanisms import catalogue
from hearsay.mechanisms.base import State, Values
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.layout import Reports
from hearsay.mechanisms.oracles import CELLS
from hearsay.mechanisms.oracles.oracle import FrequencyOracle, Moments
from hearsay.mechanisms.oracles.output_histogram import OutputHistogram
from hearsay.mechanisms.tables import Form

POISON = 13
MECHANISMS = {"identity": (Form(CELLS, ":Identity"),), "poison": (Form(CELLS, ":Poison"),)}


@dataclass(frozen=True)
class Identity(OutputHistogram, FrequencyOracle):
    """Reports the value itself."""

    ID = "identity"
    OUTPUT = "value"
    SUMMARY = "no noise: tests only"
    EXAMPLES = ()

    @property
    def outputs(self) -> int:
        return self.domain.size

    @property
    def moments(self) -> Moments:
        return Moments(0.0, 1.0, 0.0, 0.0)

    def perturb(self, values: Values, random: Random) -> Reports:
        return {"value": self.domain.flatten(values).astype(np.uint32)}

    def estimate(self, state: State) -> CellEstimate:
        n = max(self.reports(state), 1)
        shares = state["hist"] / n
        return CellEstimate(self.domain, n, shares, np.zeros_like(shares))

    def channel(self) -> NDArray[np.float64]:
        return np.eye(self.domain.size)


@dataclass(frozen=True)
class Poison(Identity):
    """Kills the process that folds the value 13, at once and without a trace."""

    ID = "poison"

    def fold(self, state: State, reports: Reports) -> State:
        if (reports["value"] == POISON).any():
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fold(state, reports)


def survey_table(mechanism: str, size: int, name: str = "buckets", **more: object) -> dict[str, object]:
    """A survey of a mechanism without noise."""
    return {
        "name": name,
        "mechanism": mechanism,
        "epsilon": 1.0,
        "domain": {"kind": "categorical", "size": size},
        **more,
    }


def make_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adds both to the catalogue for the time of a test."""
    for name, (form,) in MECHANISMS.items():
        monkeypatch.setitem(catalogue.MECHANISMS, name, (catalogue.Listed(__name__, form),))


@pytest.fixture(autouse=True)
def known_to_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    make_known(monkeypatch)
