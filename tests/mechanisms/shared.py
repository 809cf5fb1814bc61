"""What the shared suite runs on: every example of every registered mechanism."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms import Mechanism, build, catalogue
from hearsay.mechanisms.domains.cells import Cells


@dataclass(frozen=True)
class Case:
    """One example of one mechanism."""

    name: str
    table: dict[str, Any]

    def build(self) -> Mechanism:
        return build(self.table)


TELLS_NOTHING = {"um"}  # a blind guess has no answers to look at; tests/mechanisms/counts says what it does

ALL_CASES = [
    Case(f"{name}-{number}", {"mechanism": name, **example})
    for name in catalogue.shipped()
    if name not in TELLS_NOTHING
    for number, example in enumerate(catalogue.examples(name))
]
# Most laws are about shares of cells; families with domains of another kind have suites of their own.
CASES = [case for case in ALL_CASES if issubclass(catalogue.DOMAINS[case.table["domain"]["kind"]].load(), Cells)]
LISTED_CASES = ALL_CASES  # `skewed_cells` draws values of every kind of domain


def skewed_cells(mechanism: Mechanism, count: int, seed: int = 1) -> Any:
    """Values with a few heavy cells, in the shape that `perturb` takes."""
    generator = np.random.default_rng(seed)
    if not hasattr(mechanism.domain, "shape"):
        return mechanism.domain.people(lambda size: np.minimum(generator.geometric(0.35, count) - 1, size - 1))
    axes = [np.minimum(generator.geometric(0.35, count) - 1, size - 1) for size in mechanism.domain.shape]
    return axes[0] if len(axes) == 1 else np.stack(axes, axis=1)


def true_shares(mechanism: Mechanism, cells: NDArray[np.int64]) -> NDArray[np.float64]:
    """The shares that a perfect estimate would give."""
    flat = mechanism.domain.flatten(cells)
    counts = np.bincount(flat, minlength=mechanism.domain.size)
    return (counts / len(flat)).reshape(mechanism.domain.shape)
