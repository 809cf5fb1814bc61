"""Privacy as data: what a mechanism promises for every pair of values, in numbers and in words.

A promise is a matrix E: ln(P(report | x)/P(report | y)) <= E[x, y], which may be asymmetric and infinite (context-aware
local differential privacy, C definition 2). The classes here are the shapes that have a name.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import inf, isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.guarantees.protection import LISTED, Protection, factor, labels, shortened


class Guarantee(ABC):
    """A bound on ln(P(report | x) / P(report | y)) for every pair of values x, y and every report."""

    @abstractmethod
    def matrix(self, domain: Cells) -> NDArray[np.float64]:
        """The bound for every pair of cells (row-major indices); infinite where nothing is promised."""

    @abstractmethod
    def words(self) -> str:
        """The promise in one sentence."""

    @abstractmethod
    def table(self) -> dict[str, Any]:
        """The promise as data, for snapshots and the command line."""

    def protection(self, domain: Domain) -> Protection | None:
        """Which values are protected and which are not; None: every pair is promised the same, or by its distance."""
        return None


@dataclass(frozen=True)
class PureLDP(Guarantee):
    """The same epsilon for every pair."""

    epsilon: float

    def matrix(self, domain: Cells) -> NDArray[np.float64]:
        bound = np.full((domain.size, domain.size), self.epsilon)
        np.fill_diagonal(bound, 0.0)
        return bound

    def words(self) -> str:
        return (
            f"Local differential privacy with epsilon = {self.epsilon:g}: no report is more than "
            f"{np.exp(self.epsilon):.3g} (e^{self.epsilon:g}) times likelier under one value than under another."
        )

    def table(self) -> dict[str, Any]:
        return {"kind": "pure", "epsilon": self.epsilon}


@dataclass(frozen=True)
class MetricLp(Guarantee):
    """Epsilon times the L^p distance; a step from one cell to the next is `widths` long on each axis.

    Without widths all steps are 1, and no axis has bins.
    """

    epsilon: float
    p: float = 1.0
    widths: tuple[float, ...] | None = None

    def matrix(self, domain: Cells) -> NDArray[np.float64]:
        cells = np.stack(np.unravel_index(np.arange(domain.size), domain.shape), axis=1)
        widths = np.ones(len(domain.shape)) if self.widths is None else np.array(self.widths)
        steps = np.abs(cells[:, None, :] - cells[None, :, :]) * widths
        if self.p == inf:
            return self.epsilon * steps.max(axis=2)
        return self.epsilon * (steps**self.p).sum(axis=2) ** (1 / self.p)

    def words(self) -> str:
        distance = {1.0: "differences summed over the axes", inf: "largest difference over the axes"}.get(
            self.p, f"L^{self.p:g} norm of the differences over the axes"
        )
        if self.widths is None:
            return (
                f"Metric privacy: no report is more than e^({self.epsilon:g} k) times likelier under one value than "
                f"under another at a distance of k cells ({distance}). Close values are well hidden, distant ones less."
            )
        steps = ", ".join(f"{self.epsilon * width:.4g}" for width in self.widths)
        return (
            f"Metric privacy: epsilon = {self.epsilon:g} per unit of the original scale ({distance}), that is "
            f"{steps} per bin. Distance is counted in whole bins: two values on either side of a bin's edge get a "
            "whole bin's epsilon, however close they are; values in one bin are not told apart at all."
        )

    def table(self) -> dict[str, Any]:
        table: dict[str, Any] = {"kind": "metric", "metric": f"l{self.p:g}", "epsilon": self.epsilon}
        if self.widths is not None:
            table["epsilon_per_cell"] = [self.epsilon * width for width in self.widths]
        return table


@dataclass(frozen=True)
class LimitedPrecision(Guarantee):
    """Epsilon for values at an L1 distance of at most `precision` cells (Kulkarni definition 13).

    Values further apart are joined by steps of at most that length, so they get one epsilon a step.
    """

    epsilon: float
    precision: int

    def matrix(self, domain: Cells) -> NDArray[np.float64]:
        return self.epsilon * np.ceil(MetricLp(1.0).matrix(domain) / self.precision)

    def words(self) -> str:
        return (
            f"Limited precision: no report is more than {np.exp(self.epsilon):.3g} (e^{self.epsilon:g}) times likelier "
            f"under one value than under another at most {self.precision} apart; every further step of "
            f"{self.precision} adds to the exponent, so distant values may be distinguished."
        )

    def table(self) -> dict[str, Any]:
        return {"kind": "limited-precision", "epsilon": self.epsilon, "precision": self.precision}


@dataclass(frozen=True)
class BlockStructured(Guarantee):
    """Epsilon within a block, no promise between blocks (C definition 4)."""

    epsilon: float
    blocks: tuple[tuple[int, ...], ...]

    def matrix(self, domain: Cells) -> NDArray[np.float64]:
        block_of = np.empty(domain.size, dtype=np.int64)
        for number, block in enumerate(self.blocks):
            block_of[list(block)] = number
        bound = np.where(block_of[:, None] == block_of[None, :], self.epsilon, inf)
        np.fill_diagonal(bound, 0.0)
        return bound

    def words(self) -> str:
        smallest, largest = min(map(len, self.blocks)), max(map(len, self.blocks))
        sizes = f"{smallest}" if smallest == largest else f"{smallest} to {largest}"
        alone = sum(len(block) == 1 for block in self.blocks)
        have = " has" if alone == 1 else "s have"
        return (
            f"Block-structured privacy with epsilon = {self.epsilon:g}: which value of its block a device holds is "
            f"protected (no report is more than {np.exp(self.epsilon):.3g} (e^{self.epsilon:g}) times likelier under "
            f"one value than under another of its block). Which of the {len(self.blocks)} blocks ({sizes} values "
            "each) it belongs to is NOT protected: every report shows it."
            + (f" {alone} block{have} a single value, which is thus shown as it is." if alone else "")
        )

    def table(self) -> dict[str, Any]:
        return {"kind": "blocks", "epsilon": self.epsilon, "blocks": len(self.blocks)}

    def protection(self, domain: Domain) -> Protection | None:
        if not isinstance(domain, Cells):
            return None
        several = [block for block in self.blocks if len(block) > 1]
        alone = [block[0] for block in self.blocks if len(block) == 1]
        hidden = [f"which of {labels(domain, block)} a device holds" for block in several[:LISTED]]
        if len(several) > LISTED:
            hidden.append(f"likewise within the other {len(several) - LISTED:,} blocks")
        if hidden:
            hidden[0] += f": no report is more than {factor(self.epsilon)} times likelier under one than under another"
        shown = [f"which of the {len(self.blocks):,} blocks a device's value is in: every report shows it"]
        if alone:
            shown.append(f"holding {labels(domain, alone)}: alone in its block, so every report shows it")
        return Protection(hidden, shown)


@dataclass(frozen=True)
class HighLow(Guarantee):
    """Epsilon against every other value for sensitive values, no promise for the others (C definition 3)."""

    epsilon: float
    sensitive: tuple[int, ...]
    names: str

    def matrix(self, domain: Cells) -> NDArray[np.float64]:
        bound = np.full((domain.size, domain.size), inf)
        bound[list(self.sensitive)] = self.epsilon
        np.fill_diagonal(bound, 0.0)
        return bound

    def words(self) -> str:
        return (
            f"High-low privacy with epsilon = {self.epsilon:g}: holding a sensitive value ({self.names}) is protected: "
            f"no report is more than e^{self.epsilon:g} = {np.exp(self.epsilon):.3g} times likelier under a sensitive "
            "value than under any other value. The other values are NOT protected: a report may show that a device "
            "holds one of them, and which."
        )

    def table(self) -> dict[str, Any]:
        return {"kind": "high-low", "epsilon": self.epsilon, "sensitive": len(self.sensitive)}

    def protection(self, domain: Domain) -> Protection | None:
        if not isinstance(domain, Cells):
            return None
        hidden = (
            f"holding {labels(domain, self.sensitive)}: no report is more than {factor(self.epsilon)} "
            "times likelier under such a value than under any other value"
        )
        others = sorted(set(range(domain.size)) - set(self.sensitive))
        if not others:
            return Protection([hidden], [])
        shown = (
            f"holding {labels(domain, others)}: a report may show which of them a device holds, "
            "and so that it holds no sensitive value"
        )
        return Protection([hidden], [shown])


_LISTED = 32  # a larger matrix is not spelled out in snapshots and tables


@dataclass(frozen=True)
class EMatrix(Guarantee):
    """Any bound for every ordered pair of values; infinite where nothing is promised."""

    rows: tuple[tuple[float, ...], ...]

    def matrix(self, domain: Cells) -> NDArray[np.float64]:
        return np.array(self.rows, dtype=np.float64)

    @property
    def largest(self) -> float:
        """The largest finite entry: what the worst protected pair may lose."""
        return max((entry for row in self.rows for entry in row if not isinf(entry)), default=0.0)

    def words(self) -> str:
        pairs = [entry for one, row in enumerate(self.rows) for other, entry in enumerate(row) if one != other]
        free = sum(map(isinf, pairs))
        least = min(pairs)
        return (
            f"Context-aware privacy: for {len(pairs) - free} of the {len(pairs)} ordered pairs of values the logarithm "
            f"of a report's likelihood ratio is bounded, by {least:g} to {self.largest:g}"
            + (f"; for {free} pairs nothing is promised." if free else ".")
        )

    def table(self) -> dict[str, Any]:
        table: dict[str, Any] = {"kind": "matrix", "epsilon": self.largest}
        if len(self.rows) <= _LISTED:
            table["matrix"] = [["inf" if isinf(entry) else entry for entry in row] for row in self.rows]
        return table

    def protection(self, domain: Domain) -> Protection | None:
        """A row without infinity bounds how much likelier a report may be under its value than under any other one."""
        if not isinstance(domain, Cells):
            return None
        hidden, shown = [], []
        for value, row in enumerate(self.rows):
            name = labels(domain, [value])
            open_to = [other for other, bound in enumerate(row) if isinf(bound)]
            if open_to:
                shown.append(f"holding {name} rather than {labels(domain, open_to)}: a report may show it")
            else:
                limit = f"no report is more than {factor(max(row))} times likelier than under any other value"
                hidden.append(f"holding {name}: {limit}")
        return Protection(shortened(hidden), shortened(shown))


@dataclass(frozen=True)
class Sequence(Guarantee):
    """Several reports about the same value: the bounds add (C proposition 2)."""

    parts: tuple[Guarantee, ...]

    def matrix(self, domain: Cells) -> NDArray[np.float64]:
        return np.sum([part.matrix(domain) for part in self.parts], axis=0)

    def words(self) -> str:
        listed = " ".join(f"({number}) {part.words()}" for number, part in enumerate(self.parts, start=1))
        return (
            f"{len(self.parts)} releases about the same value, whose exponents add for every pair of values: {listed}"
        )

    def table(self) -> dict[str, Any]:
        return {"kind": "sequence", "parts": [part.table() for part in self.parts]}


def in_sequence(*parts: Guarantee) -> Guarantee:
    """The guarantee of releasing several reports about one value, each of which may depend on the earlier ones."""
    if parts and all(isinstance(part, PureLDP) for part in parts):
        return PureLDP(sum(part.epsilon for part in parts if isinstance(part, PureLDP)))
    same_metric = {(part.p, part.widths) if isinstance(part, MetricLp) else None for part in parts}
    if len(same_metric) == 1 and isinstance(parts[0], MetricLp):
        return replace(parts[0], epsilon=sum(part.epsilon for part in parts if isinstance(part, MetricLp)))
    return parts[0] if len(parts) == 1 else Sequence(parts)
