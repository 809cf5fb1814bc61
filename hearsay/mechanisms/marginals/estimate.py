"""Estimates of attribute surveys: any marginal of up to k attributes from one state."""

import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.estimates.charts import Chart
from hearsay.mechanisms.estimates.estimate import Estimate, Floats, Measured
from hearsay.mechanisms.marginals.analyses.maxent import MeasuredCharacters, parts_of
from hearsay.mechanisms.marginals.characters.code import Attributes, check_attributes
from hearsay.mechanisms.marginals.characters.coefficients import level_sizes
from hearsay.mechanisms.marginals.characters.reading import from_characters, stderr_of_each
from hearsay.mechanisms.marginals.characters.subspaces import Subspaces
from hearsay.mechanisms.marginals.domain import AttributeDomain, OnAttributes
from hearsay.mechanisms.marginals.table import Table

FEW_ATTRIBUTES = 12  # of a headline
SMALL_TABLE = 64  # cells: with its covariance at most 32 kB
KEPT_TABLES = 128


class Marginals(ABC):
    """Tables of several attributes."""

    WHAT: ClassVar[str] = "tables of attributes"

    @abstractmethod
    def table(self, attributes: Iterable[int]) -> Table:
        """The marginal of these attributes, in the order named."""


@dataclass(frozen=True, eq=False)
class MarginalEstimate(OnAttributes, Estimate, Marginals):
    """What all methods answer: tables of up to `order` attributes with the covariance of their cells."""

    domain: AttributeDomain
    reports: int

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The coefficients, level by level, with their standard errors."""
        value, stderr, *_ = self.measured_coefficients
        return {"estimate": value, "stderr": stderr}

    @property
    def cost(self) -> int:
        return sum(level_sizes(self.code, self.order))

    def headline(self) -> tuple[str, ...]:
        """The shares of the first attributes, and the tree where there are few enough of them to be shown."""
        names = self.domain.columns
        has_tree = 2 <= len(names) <= FEW_ATTRIBUTES and self.order >= 2
        return (*(shlex.join(("marginal", name)) for name in names[:FEW_ATTRIBUTES]), *(("tree",) if has_tree else ()))

    def charts(self) -> tuple[Chart, ...]:
        """A table of attributes that the reader picks, the tree and the correlations where pairs were collected."""
        names = self.domain.columns
        pick = {"verb": "marginal", "from": list(names), "most": self.order}
        first = shlex.join(("marginal", *names[: min(self.order, 2)]))
        table = Chart("table", first, "Shares of combinations", choose=pick)
        if len(names) < 2 or self.order < 2:
            return (table,)
        return (
            Chart("tree", "tree", "Dependency tree (mutual information)"),
            Chart("tree", "correlations", "Correlations"),
            table,
        )

    def table(self, attributes: Iterable[int]) -> Table:
        """Small ones are kept: the headline, the tree and the correlations ask for the same pairs."""
        checked = check_attributes(tuple(attributes), self.order)
        table = self._kept_tables.get(checked)
        if table is None:
            table = self._table(checked)
            if table.value.size <= SMALL_TABLE and len(self._kept_tables) < KEPT_TABLES:
                self._kept_tables[checked] = table
        return table

    @cached_property
    def _kept_tables(self) -> dict[Attributes, Table]:
        return {}

    @abstractmethod
    def _table(self, attributes: Attributes) -> Table:
        """The same, with the attributes checked."""

    def tables(self, several: Iterable[Attributes]) -> list[Table]:
        """Several marginals; a method may override this to share work between them."""
        return [self.table(attributes) for attributes in several]

    def known(self, attributes: Attributes) -> list[MeasuredCharacters]:
        """The measured characters of all parts of up to k of these attributes."""
        return [MeasuredCharacters.of(self.code, self.table(part)) for part in parts_of(attributes, self.order)]

    @cached_property
    def measured_coefficients(self) -> Measured:
        """theta of every character with its standard error, in the coefficients' order."""
        value, stderr = np.zeros(self.coefficients.count), np.zeros(self.coefficients.count)
        for attributes in self.sets(self.order):
            table, numbers = self.table(attributes), self.coefficients.of(attributes)
            value[numbers[1:]] = self.code.to_characters(attributes, table.value)[1:]
            signs = np.stack([self.code.to_characters(attributes, row) for row in np.eye(table.value.size)])
            spread = np.einsum("xa,xy,ya->a", signs, table.conditional, signs, optimize=True)
            stderr[numbers[1:]] = np.sqrt(np.maximum(spread, 0.0))[1:]
        return Measured.plain(value, stderr)


@dataclass(frozen=True, eq=False)
class CharacterEstimate(MarginalEstimate):
    """theta of all characters, estimated from reports about a public list of subspaces.

    `correlation` is that of a sent sign with the true one. `own`: each character is divided by its own count of
    reports, not by the expected count.
    """

    theta: Floats
    subspaces: Subspaces
    correlation: float
    own: bool

    @cached_property
    def measured_coefficients(self) -> Measured:
        stderr = stderr_of_each(self.theta, self.subspaces.seen, self.reports, self.correlation, self.own)
        return Measured.plain(self.theta, stderr)

    def _table(self, attributes: Attributes) -> Table:
        numbers = self.subspaces.coefficients.of(attributes)
        return from_characters(
            self.code,
            attributes,
            self.reports,
            np.where(numbers >= 0, self.theta[numbers], 1.0),
            self.subspaces.together(numbers),
            self.correlation,
            self.own,
            (1 << self.subspaces.t) - 1,
        )


@dataclass(frozen=True, eq=False)
class ExactMarginals(MarginalEstimate):
    """The true tables of the devices: a survey without noise."""

    values: Indices

    def _table(self, attributes: Attributes) -> Table:
        shape = self.code.shape(attributes)
        cells = np.ravel_multi_index(tuple(self.values[:, attribute] for attribute in attributes), shape)
        value = np.bincount(cells, minlength=self.code.cells(attributes)) / max(self.reports, 1)
        sampling = (np.diag(value) - np.outer(value, value)) / max(self.reports, 1)
        return Table(attributes, shape, self.reports, value, sampling)
