"""Questions about attributes: tables, conditionals, association, correlations, the tree.

Post-processing of a table: `clip`, `norm-sub` and `simplex` as for any shares; `consistency`, `maxent` and `tree` use
what all data say about the attributes (modules `analyses.consistency`, `maxent`, `tree`). The last two are models: they
also answer for more attributes than were collected, where there is no raw value beside them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import log, prod
from typing import Any, Self

import numpy as np

from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Floats, Measured
from hearsay.mechanisms.estimates.postprocess import process
from hearsay.mechanisms.marginals.analyses.conditional import conditional
from hearsay.mechanisms.marginals.analyses.consistency import consistent
from hearsay.mechanisms.marginals.analyses.correlation import coefficient_name, correlation
from hearsay.mechanisms.marginals.analyses.information import measured_information, mutual_information
from hearsay.mechanisms.marginals.analyses.maxent import fit
from hearsay.mechanisms.marginals.analyses.tree import Edge, Tree, spanning_tree
from hearsay.mechanisms.marginals.characters.code import Attributes
from hearsay.mechanisms.marginals.domain import GIVEN, AttributeDomain
from hearsay.mechanisms.marginals.estimate import MarginalEstimate, Marginals
from hearsay.mechanisms.marginals.table import Table
from hearsay.mechanisms.queries.answer import Answer, known
from hearsay.mechanisms.queries.example import Example
from hearsay.mechanisms.queries.query import Query, within
from hearsay.mechanisms.queries.view import View

SHARES = ("clip", "norm-sub", "simplex")
MODELS = ("maxent", "tree")
Pair = tuple[int, int]
_PAIRS = {"mechanism": "inp-ht", "epsilon": 3.0, "domain": {"kind": "attributes", "names": ["a", "b"], "sizes": [2, 2]}}
_DEVICES = [(0, 0)] * 4 + [(0, 1)] + [(1, 0)] + [(1, 1)] * 4
_CELLS = [{"a": a, "b": b} for a in (0, 1) for b in (0, 1)]
_PAIR = {"first": "a", "second": "b"}
_TESTS = ["p-value", "naive-p-value", "mutual-information"]
_NATS = 0.8 * log(1.6) + 0.2 * log(0.4)  # p log(p/(1/2 1/2)) over the four cells


def attribute_numbers(words: Sequence[str], domain: Any) -> Attributes:
    """The attributes that a question names, each once."""
    numbers = tuple(domain.attribute_number(word) for word in words)
    if len(set(numbers)) < len(numbers):
        twice = next(word for word in words if words.count(word) > 1)
        raise QueryError(what="query", must="name every attribute once", got=f"{twice} twice")
    return numbers


def _pairs(domain: Any) -> list[Pair]:
    return list(combinations(range(len(domain.axes)), 2))


def _needs_pairs(domain: Any, verb: str) -> None:
    if len(domain.axes) < 2 or domain.order < 2:
        raise QueryError(f"query {verb} needs tables of two attributes, this survey has order {domain.order}")


def _named(domain: Any, pair: Pair) -> tuple[None, dict[str, Any]]:
    names = domain.columns
    return None, {"first": names[pair[0]], "second": names[pair[1]]}


def tree_of(estimate: MarginalEstimate) -> Tree:
    """The Chow-Liu tree of an estimate's pairs."""
    tables = {pair: estimate.table(pair) for pair in _pairs(estimate.domain)}
    weights: dict[Edge, float] = {
        pair: float(mutual_information(table.projected.reshape(table.shape))) for pair, table in tables.items()
    }
    edges = spanning_tree(len(estimate.domain.axes), weights)
    return Tree.of(estimate.domain.shape, edges, {edge: tables[edge].value for edge in edges})


@dataclass(frozen=True)
class AttributeQuery(Query):
    """A question about attributes; it has no meaning on another domain."""

    NEEDS = Marginals
    PREDICTED = "marginal"

    @classmethod
    def unsuited(cls, domain: Domain) -> str | None:
        if isinstance(domain, AttributeDomain):
            return None
        return f"query {cls.NAME} needs a domain of kind attributes, got {domain.kind}"


@dataclass(frozen=True)
class PairsQuery(AttributeQuery):
    """A question about every two attributes, asked without an argument."""

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        _needs_pairs(domain, cls.NAME)
        return cls()


@dataclass(frozen=True)
class Marginal(AttributeQuery):
    """The table of some attributes."""

    attributes: Attributes

    NAME, GRAMMAR = "marginal", "marginal ATTR..."
    HELP = "the table of these attributes, row by row in the order named"
    WORDS, MANY = (1, None), True
    METHODS = frozenset((*SHARES, "consistency", *MODELS))
    EXAMPLES = (Example(_PAIRS, _DEVICES, "marginal a b", [0.4, 0.1, 0.1, 0.4], _CELLS),)

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        return cls(attribute_numbers(words, domain))

    def answers(self, domain: Any) -> int:
        return prod(domain.shape[attribute] for attribute in self.attributes)

    def together(self, domain: Any) -> int:
        return self.answers(domain)

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        names = self._names(estimate.domain)
        if len(self.attributes) > estimate.order:
            return view.show(self._unmeasured(estimate.domain), names, self._modelled(estimate, view.method))
        table: Table = estimate.table(self.attributes)
        if table.model:  # the method itself has nothing better than a model for these attributes
            shown = table.value if view.method == "none" else process(table.value, view.method).values
            label = view.method if view.method != "none" else table.method
            return replace(view, method=label).show(self._unmeasured(estimate.domain), names, shown)
        raw = table.measured(estimate.z)
        if view.method == "none":
            return view.show(raw, names)
        return view.show(raw, names, self._processed(estimate, table, view.method))

    def _names(self, domain: Any) -> Iterator[tuple[None, dict[str, Any]]]:
        return ((None, domain.cell(self.attributes, index)) for index in range(self.answers(domain)))

    def _unmeasured(self, domain: Any) -> Measured:
        return Measured.without_error(np.full(self.answers(domain), np.nan))

    def _processed(self, estimate: Any, table: Table, method: str) -> Floats:
        if method in SHARES:
            return process(table.value, method).values
        if method == "consistency":
            return consistent(estimate, self.attributes)
        return self._modelled(estimate, method)

    def _modelled(self, estimate: Any, method: str) -> Floats:
        if method == "maxent":
            return fit(estimate, self.attributes).value
        if method == "tree":
            _needs_pairs(estimate.domain, "marginal with postprocess tree")
            return tree_of(estimate).marginal(self.attributes)
        raise QueryError(
            f"query marginal takes at most {estimate.order} attributes, as many as domain.order says, got "
            f"{len(self.attributes)}; postprocess {' or '.join(MODELS)} answers with a model"
        )


@dataclass(frozen=True)
class Conditional(AttributeQuery):
    """Shares of some attributes among the devices that hold others."""

    attributes: Attributes
    given: Attributes

    VARIES = True
    NAME, GRAMMAR = "conditional", "conditional A... given B..."
    HELP = "the shares of A among those who hold each value of B, with Fieller's interval"
    WORDS = (3, None)
    OWN_UNIT = "which is a share of those who hold what is given"
    EXAMPLES = (Example(_PAIRS, _DEVICES, "conditional a given b", [0.8, 0.2, 0.2, 0.8], _CELLS),)

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        if words.count(GIVEN) != 1 or words[0] == GIVEN or words[-1] == GIVEN:
            raise QueryError(f"query conditional is asked as: {cls.GRAMMAR}")
        split = list(words).index(GIVEN)
        numbers = attribute_numbers([*words[:split], *words[split + 1 :]], domain)
        if len(numbers) > domain.order:
            raise QueryError(
                f"query conditional takes at most {domain.order} attributes, as many as domain.order says, got "
                f"{len(numbers)}"
            )
        return cls(numbers[:split], numbers[split:])

    def answers(self, domain: Any) -> int:
        return prod(domain.shape[attribute] for attribute in (*self.attributes, *self.given))

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        attributes = (*self.attributes, *self.given)
        table: Table = estimate.table(attributes)
        shares = conditional(table, tuple(range(len(self.attributes), len(attributes))))
        if table.model:
            shares = Measured.without_error(shares.value)
        return view.show(shares, [(None, estimate.domain.cell(attributes, index)) for index in range(table.value.size)])

    def sampling(self, estimate: Any, answers: Sequence[Answer]) -> Sequence[float]:
        # r(1-r) among the share y of devices that hold what is given.
        table: Table = estimate.table((*self.attributes, *self.given))
        shares = table.value.reshape(table.shape)
        y = shares.sum(axis=tuple(range(len(self.attributes))), keepdims=True)
        holders = np.broadcast_to(y, shares.shape).reshape(-1).tolist()
        return [
            within(each.value, 0.0, 1.0) / part if part > 0 else 0.0
            for each, part in zip(answers, holders, strict=True)
        ]


@dataclass(frozen=True)
class AssociationQuery(AttributeQuery):
    """Whether two attributes depend on each other, and how much one says about the other."""

    pair: Pair

    NAME, GRAMMAR = "association", "association A B"
    VARIES = True
    HELP = "p-value of a test of independence that knows the noise, the naive one beside it, mutual information (nats)"
    WORDS = (2, 2)
    OWN_UNIT = "whose answers are p-values and nats"
    WITHOUT_INTERVAL = dict.fromkeys(_TESTS[:2], "a p-value is no estimate")
    # n (0.4 - 0.25)^2/0.25 summed over the cells is 3.6, which chi-squared exceeds with that chance.
    EXAMPLES = (Example(_PAIRS, _DEVICES, "association a b", [None, 0.0577795711235973, _NATS], _TESTS),)

    @classmethod
    def parse(cls, words: Sequence[str], domain: Any) -> Self:
        one, other = attribute_numbers(words, domain)
        _needs_pairs(domain, cls.NAME)
        return cls((one, other))

    def answers(self, domain: Any) -> int:
        return 3

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        table: Table = estimate.table(self.pair)
        if table.model:
            value = known(float(mutual_information(table.projected.reshape(table.shape))))
            unknown = (None, None)
            return [
                Answer(view.text, None, None, "p-value", interval=unknown),
                Answer(view.text, None, None, "naive-p-value", interval=unknown),
                Answer(view.text, value, None, "mutual-information", interval=unknown),
            ]
        information = measured_information(table)
        return [
            Answer(view.text, known(information.test.p_value), None, "p-value"),
            Answer(view.text, known(information.test.naive_p_value), None, "naive-p-value"),
            Answer(
                view.text,
                known(information.value),
                None,
                "mutual-information",
                interval=(known(information.low), known(information.high)),
            ),
        ]


@dataclass(frozen=True)
class Correlations(PairsQuery):
    """How strongly every two attributes go together."""

    VARIES = True
    NAME, GRAMMAR = "correlations", "correlations"
    HELP = "Pearson's coefficient of every two attributes; Cramer's V where one has more than two values"
    MANY = True
    OWN_UNIT = "whose answers are between -1 and 1"
    EXAMPLES = (Example(_PAIRS, _DEVICES, "correlations", [0.6], [_PAIR]),)

    def answers(self, domain: Any) -> int:
        return len(_pairs(domain))

    def together(self, domain: Any) -> int:
        return self.answers(domain)

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        pairs = _pairs(estimate.domain)
        measured = np.array([correlation(estimate.table(pair)) for pair in pairs])
        answers = view.show(Measured(*measured.T), [_named(estimate.domain, pair) for pair in pairs])
        return [
            replace(answer, coefficient=coefficient_name([estimate.domain.axes[number].size for number in pair]))
            for answer, pair in zip(answers, pairs, strict=True)
        ]


@dataclass(frozen=True)
class TreeQuery(PairsQuery):
    """What depends on what: the tree of the strongest dependencies."""

    NAME, GRAMMAR = "tree", "tree"
    VARIES = True
    HELP = "the Chow-Liu tree: pairs of attributes with their mutual information (nats), the strongest first"
    OWN_UNIT = "whose answers are nats"
    EXAMPLES = (Example(_PAIRS, _DEVICES, "tree", [_NATS], [_PAIR]),)

    def answers(self, domain: Any) -> int:
        return len(domain.axes) - 1

    def answer(self, estimate: Any, view: View) -> list[Answer]:
        answers = []
        for edge in tree_of(estimate).edges:
            table = estimate.table(edge)
            _, cell = _named(estimate.domain, edge)
            value = known(float(mutual_information(table.projected.reshape(table.shape))))
            interval: tuple[float | None, float | None] = (None, None)
            if not table.model:
                information = measured_information(table)
                interval = (known(information.low), known(information.high))
            answers.append(Answer(view.text, value, None, cell=cell, interval=interval))
        return answers
