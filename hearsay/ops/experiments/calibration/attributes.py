"""Surveys of attributes at the edges: cells of marginals, conditional shares, mutual information.

Intervals that are the whole range say nothing and are counted apart. Mutual information is that of the population which
devices are drawn from, so its people are drawn afresh in every run; its interval is meant to hold in 90% of surveys.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import log
from typing import Any

import numpy as np

from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.marginals.analyses.conditional import conditional
from hearsay.mechanisms.marginals.analyses.information import measured_information, mutual_information
from hearsay.mechanisms.planning.drawn_states import draw_values
from hearsay.ops.experiments.calibration.cases import DATA, crossed, with_others
from hearsay.ops.experiments.calibration.tally import Measurement, Tally, planned

KINDS = ("cell", "single", "conditional", "information")
ATTRIBUTES = with_others(
    ("inp-ht", "inp-rr", "inp-ps", "marg-rr", "marg-ps", "marg-ht", "inp-em", "inp-olh", "calm"), "attributes"
)
SHAPES = ((3, 2), (8, 2), (16, 2), (24, 2), (32, 2), (16, 3))  # d binary attributes, tables of k of them
_LARGEST = {"inp-rr": 16, "inp-ps": 22, "inp-olh": 8}  # bits; inp-olh takes more, but slowly
_TABLES = 3  # looked at in every run
_WHOLE = (0.0, 1.0)
_ALIKE = 0.6


@dataclass(frozen=True)
class AttributeCase:
    """One setting."""

    mechanism: str
    shape: tuple[int, int]
    data: str
    reports: int
    epsilon: float

    @property
    def where(self) -> str:
        return f"{self.shape[0]} attributes in tables of {self.shape[1]}"

    def table(self) -> dict[str, Any]:
        """The mechanism as a survey has it."""
        d, k = self.shape
        domain = {"kind": "attributes", "names": [f"a{attribute}" for attribute in range(d)], "order": k}
        return {"mechanism": self.mechanism, "epsilon": self.epsilon, "domain": domain}

    def people(self, generator: np.random.Generator) -> Indices:
        """A row per device: fair coins, a chain from rare to frequent, all alike, two opposite kinds, all with all."""
        n, d = self.reports, self.shape[0]
        if self.data == "uniform":
            return generator.integers(0, 2, (n, d))
        if self.data == "zipf":
            drawn = generator.random((n, d))
            for attribute in range(d):
                before = drawn[:, attribute - 1] if attribute else 0
                drawn[:, attribute] = drawn[:, attribute] < np.where(before, _ALIKE, 1 / (1 + d - attribute))
            return drawn.astype(np.int64)
        if self.data == "point":
            return np.tile(np.arange(d) % 3 == 0, (n, 1)).astype(np.int64)
        if self.data == "peaks":
            return (generator.integers(0, 2, (n, 1)) ^ (np.arange(d) % 2)[None]).astype(np.int64)
        return np.ones((n, d), dtype=np.int64)

    def information(self, pair: tuple[int, int]) -> float:
        """Mutual information of two attributes in the population."""
        if self.data == "peaks":
            return log(2)
        return _zipf_information(self.shape[0], pair) if self.data == "zipf" else 0.0


@lru_cache(maxsize=64)
def _zipf_information(d: int, pair: tuple[int, int]) -> float:
    """Of the chain in which an attribute is likelier where the one before is held."""
    first = np.array([d / (1 + d), 1 / (1 + d)])
    chance, joint = first, np.zeros((2, 2))
    for attribute in range(1, pair[1] + 1):
        own = 1 / (1 + d - attribute)
        if attribute == pair[0] + 1:
            joint = np.diag(chance)
        step = np.array([[1 - own, own], [1 - _ALIKE, _ALIKE]])
        chance, joint = chance @ step, joint @ step
    return float(mutual_information(joint))


def cases(mechanism: str, quick: bool) -> Iterator[AttributeCase]:
    """All settings of a mechanism; the quick form has few of them."""
    shapes = [shape for shape in SHAPES if shape[0] <= _LARGEST.get(mechanism, 32)]
    for shape, name, n, epsilon in crossed(shapes[:1] if quick else shapes, ("zipf", "edge"), quick):
        yield AttributeCase(mechanism, shape, name, n, epsilon)


def measure(case: AttributeCase, runs: int, seed: int) -> Measurement:
    """So many runs of one case."""
    mechanism = planned(case)
    generator = np.random.default_rng([seed, *case.shape, case.reports, int(case.epsilon * 10), DATA.index(case.data)])
    result = Measurement(case, {kind: Tally(runs=runs) for kind in KINDS})
    for _ in range(runs):
        people = case.people(generator)
        exact: Any = mechanism.exact(people)
        estimate: Any = mechanism.estimate(draw_values(mechanism, people, generator))
        for chosen in _tables(case.shape, generator):
            table, true = estimate.table(chosen), exact.table(chosen)
            if table.model:
                continue
            result.tallies["cell"].add(table.measured(), true.value, _WHOLE)
            result.add_together(table.measured(), table.measured, true.value)
            one = estimate.table(chosen[:1])
            result.tallies["single"].add(one.measured(), exact.table(chosen[:1]).value, _WHOLE)
            given = tuple(range(1, len(chosen)))
            shares = conditional(true, given).value
            known = np.isfinite(shares)
            measured = conditional(table, given).take(known)
            result.tallies["conditional"].add(measured, shares[known], _WHOLE)
        pair = tuple(sorted(generator.choice(case.shape[0], 2, replace=False).tolist()))
        _information(result.tallies["information"], estimate.table(pair), case.information(pair))
    return result


def _tables(shape: tuple[int, int], generator: np.random.Generator) -> list[tuple[int, ...]]:
    every = list(combinations(range(shape[0]), shape[1]))
    return [every[number] for number in generator.choice(len(every), min(_TABLES, len(every)), replace=False)]


def _information(tally: Tally, table: Any, true: float) -> None:
    if table.model:
        return
    information = measured_information(table)
    telling = np.array([information.low > 0 or information.high < log(2) - 1e-9])
    tally.count(
        np.ones_like(telling), telling, np.array([information.low <= true + 1e-9 and true <= information.high + 1e-9])
    )
