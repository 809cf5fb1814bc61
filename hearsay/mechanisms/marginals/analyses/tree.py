"""The Chow-Liu tree: of all trees over the attributes the one whose edges have the most mutual information.

The distribution p(root) prod p(child | parent) along it is the closest to the truth of all that are trees (Chow and Liu
1968; Kulkarni 2.5.1). Edges come from the measured pairs; the joint distribution is a model, and so is any marginal
that is read from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.postprocess import project
from hearsay.mechanisms.marginals.characters.code import Attributes

Edge = tuple[int, int]
MODEL = "Chow-Liu tree: a model that knows pairs along the tree only"


def spanning_tree(attributes: int, weights: Mapping[Edge, float]) -> tuple[Edge, ...]:
    """The spanning tree of greatest weight, its edges from the heaviest; ties go to the first pair."""
    component = list(range(attributes))
    chosen = []
    for one, other in sorted(weights, key=lambda edge: (-weights[edge], edge)):
        if component[one] != component[other]:
            old, new = component[other], component[one]
            component = [new if part == old else part for part in component]
            chosen.append((one, other))
    return tuple(chosen)


@dataclass(frozen=True, eq=False)
class Tree:
    """Edges with the probability table of each, axes in the edge's order; and the attributes' sizes."""

    sizes: tuple[int, ...]
    edges: tuple[Edge, ...]
    tables: Mapping[Edge, Floats]

    @classmethod
    def of(cls, sizes: tuple[int, ...], edges: tuple[Edge, ...], measured: Mapping[Edge, Floats]) -> "Tree":
        """Measured tables of the edges, each projected to probabilities."""
        tables = {edge: project(measured[edge].reshape(-1)).reshape(sizes[edge[0]], sizes[edge[1]]) for edge in edges}
        return cls(sizes, edges, tables)

    @cached_property
    def parents(self) -> tuple[int | None, ...]:
        """Every attribute's parent, with attribute 0 as the root."""
        neighbours: dict[int, list[int]] = {attribute: [] for attribute in range(len(self.sizes))}
        for one, other in self.edges:
            neighbours[one].append(other)
            neighbours[other].append(one)
        parents: list[int | None] = [None] * len(self.sizes)
        seen, waiting = {0}, [0]
        while waiting:
            attribute = waiting.pop()
            for near in sorted(neighbours[attribute]):
                if near not in seen:
                    parents[near] = attribute
                    seen.add(near)
                    waiting.append(near)
        return tuple(parents)

    def pair(self, one: int, other: int) -> Floats:
        """The table of an edge, `one` along the rows."""
        if (one, other) in self.tables:
            return self.tables[one, other]
        return self.tables[other, one].T

    @cached_property
    def factors(self) -> tuple[Floats, ...]:
        """p(child | parent), parent along the rows; for the root its own shares."""
        factors: list[Floats] = []
        for attribute, parent in enumerate(self.parents):
            if parent is None:
                near = next(
                    other if one == attribute else one for one, other in self.edges if attribute in (one, other)
                )
                factors.append(self.pair(attribute, near).sum(axis=1))
                continue
            joint = self.pair(parent, attribute)
            sums = joint.sum(axis=1, keepdims=True)
            even = np.full(joint.shape, 1 / joint.shape[1])
            factors.append(np.where(sums > 0, joint / np.where(sums > 0, sums, 1.0), even))
        return tuple(factors)

    def marginal(self, attributes: Attributes) -> Floats:
        """What the tree says about these attributes: its joint distribution summed over all others, row-major."""
        needed = set(attributes)
        for attribute in attributes:
            while (parent := self.parents[attribute]) is not None:
                needed.add(parent)
                attribute = parent
        if len(needed) > 40:
            raise QueryError(what="a tree's marginal", must="involve at most 40 attributes", got=len(needed))
        letters = {
            attribute: chr(ord("a") + number) if number < 26 else chr(ord("A") + number - 26)
            for number, attribute in enumerate(sorted(needed))
        }
        terms, factors = [], []
        for attribute in sorted(needed):
            parent = self.parents[attribute]
            terms.append(letters[attribute] if parent is None else letters[parent] + letters[attribute])
            factors.append(self.factors[attribute])
        wanted = "".join(letters[attribute] for attribute in attributes)
        joint: Floats = np.einsum(",".join(terms) + "->" + wanted, *factors, optimize="greedy")
        return joint.reshape(-1)
