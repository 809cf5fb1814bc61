"""How often the intervals of shares of texts hold the truth.

Kinds: the most frequent text, texts with one to five holders, texts with none, and *outside*, which has none either.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hearsay.mechanisms.planning.drawn_states import draw_values
from hearsay.ops.experiments.calibration.cases import DATA, Case, crossed, with_others
from hearsay.ops.experiments.calibration.coverage import cells_by_kind
from hearsay.ops.experiments.calibration.tally import Measurement, Tally, planned

KINDS = ("heavy", "rare", "empty", "outside")
TEXTS = with_others(("prefixes",), "text")
SIZES = (7, 255)  # how many different texts the devices may hold
_TABLE = 1024  # few buckets: collisions are part of what is measured


@dataclass(frozen=True)
class TextCase(Case):
    """One setting: `size` different texts, all of four letters."""

    @property
    def where(self) -> str:
        return f"{self.size} texts"

    def table(self) -> dict[str, Any]:
        domain = {"kind": "text", "length": 4, "alphabet": "abcdefghijklmnopqrstuvwxyz"}
        options = {"texts": 16, "table": _TABLE}
        return {"mechanism": self.mechanism, "epsilon": self.epsilon, "domain": domain, "options": options}


def cases(mechanism: str, quick: bool) -> Iterator[TextCase]:
    """All settings; the quick form has few of them."""
    for size, data, reports, epsilon in crossed(SIZES[:1] if quick else SIZES, ("zipf", "edge"), quick):
        yield TextCase(mechanism, size, data, reports, epsilon)


def measure(case: TextCase, runs: int, seed: int) -> Measurement:
    """So many runs of one case."""
    mechanism, holders = planned(case), case.holders()  # how many devices hold each text
    generator = np.random.default_rng([seed, case.size, case.reports, int(case.epsilon * 10), DATA.index(case.data)])
    domain: Any = mechanism.domain
    codes = domain.code.encode(domain.some_words()[: case.size])
    people = np.repeat(codes, holders, axis=0)
    asked = {  # by kind: the codes of the texts that are asked for, and their true shares
        kind: (codes[chosen], holders[chosen] / case.reports)
        for kind, chosen in cells_by_kind(holders, generator).items()
    }
    asked["outside"] = domain.code.outside[None], np.zeros(1)
    result = Measurement(case, {kind: Tally(runs=runs) for kind in asked})
    for _ in range(runs):
        estimate: Any = mechanism.estimate(draw_values(mechanism, people, generator))
        for kind, (chosen, truth) in asked.items():
            result.tallies[kind].add(estimate.shares(chosen), truth)
    return result
