"""Distances between values: how much less two values need to be hidden from one another, in units of epsilon.

A metric is named in a survey by a word (`ldp`, `l1`, `l2`, `linf`, `sensitive`) or by a table:

    metric = "sensitive"                                      # E_S: 1 where a sensitive value is involved, else 2
    metric = { kind = "lp", p = 3 }                           # norms use the axes' own units
    metric = { kind = "graph", edges = [["a", "b"], ["b", "c", 0.5]] }   # shortest paths; no path: nothing promised
    metric = { kind = "matrix", rows = [[0, 1], [1, 0]] }     # or only the rows, or the name of a CSV file with them

Whatever is given by hand is checked to be a metric (Xiang et al. 1.1, proposition 1): zero only from a value to itself,
symmetric, and never longer than a detour.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.errors import QueryError, SpecificationError, refuse_more
from hearsay.mechanisms.guarantees.promises import Guarantee, MetricLp
from hearsay.mechanisms.options import Option

Distances = NDArray[np.float64]
MAXIMUM_CELLS = 1024  # every pair of values, and every detour, is looked at
_ROUNDING = 1e-12  # of a distance computed in floating point, relative
_NORMS = {"l1": 1.0, "l2": 2.0, "linf": inf}


def metric_option(default: str | None) -> Option:
    """The option `metric`; its normal form is a table with `kind`."""

    def check(value: Any) -> Any:
        if value is None and default is None:
            return None
        if isinstance(value, list | tuple):
            value = {"kind": "matrix", "rows": list(value)}
        table = {"kind": value} if isinstance(value, str) else value
        named = table.get("kind") if isinstance(table, Mapping) else None
        if not isinstance(table, Mapping) or not isinstance(named, str) or named not in _KINDS:
            raise SpecificationError(what="options.metric", expected=f"one of {', '.join(_KINDS)}", got=repr(value))
        parameters = set(table) - {"kind"}
        if parameters != _PARAMETERS.get(named, set()):
            wanted = ", ".join(sorted(_PARAMETERS.get(named, set()))) or "nothing"
            raise SpecificationError(f"options.metric of kind {named} takes {wanted}, got {sorted(parameters)}")
        return dict(table)

    return Option("metric", default, check, f"distance between values: {', '.join(_KINDS)}; or a CSV file")


def distances(table: Mapping[str, Any], domain: Cells) -> Distances:
    """The distance of every pair of cells (row-major), checked to be a metric."""
    check_size(domain)
    metric = _KINDS[table["kind"]](table, domain)
    check_axioms(metric)
    return metric


def check_size(domain: Cells) -> None:
    """Refuse a domain whose pairs are too many to look at."""
    refuse_more(domain.size, MAXIMUM_CELLS, "cells for a metric")


def check_axioms(given: Distances) -> None:
    """Refuse what is not a metric, naming the first pair that shows it."""

    def refuse(problem: str) -> None:
        raise SpecificationError(what="options.metric", expected="a metric", ending=f": {problem}")

    off_diagonal = ~np.eye(len(given), dtype=bool)
    if np.isnan(given).any() or (given < 0).any():
        refuse("a distance is negative or not a number")
    if (np.diagonal(given) != 0).any():
        refuse("the distance of a value to itself is not 0")
    if (given[off_diagonal] == 0).any():
        x, y = np.argwhere((given == 0) & off_diagonal)[0]
        refuse(f"values {x} and {y} differ, but their distance is 0")
    if (given != given.T).any():
        x, y = np.argwhere(given != given.T)[0]
        refuse(f"the distance from value {x} to {y} is {given[x, y]:g}, but {given[y, x]:g} the other way")
    for middle, leg in enumerate(given):
        longer = given > (leg[:, None] + leg[None, :]) * (1 + _ROUNDING)
        if longer.any():
            x, y = np.argwhere(longer)[0]
            detour = leg[x] + leg[y]
            refuse(f"from value {x} to {y} it is {given[x, y]:g}, but {detour:g} by way of {middle}")


def direct_pairs(given: Distances) -> NDArray[np.int64]:
    """The pairs (x < y) at a finite distance with no third value exactly on the way, shape (pairs, 2).

    A bound that obeys the triangle inequality and holds for these pairs holds for all others.
    """
    through = np.zeros(given.shape, dtype=bool)
    for middle, leg in enumerate(given):
        on_the_way = leg[:, None] + leg[None, :] <= given * (1 + _ROUNDING)
        on_the_way[middle, :] = False
        on_the_way[:, middle] = False
        through |= on_the_way
    return np.argwhere(np.triu(~through & np.isfinite(given), k=1)).astype(np.int64)


def _equal(table: Mapping[str, Any], domain: Cells) -> Distances:
    return 1.0 - np.eye(domain.size)


def _norm(table: Mapping[str, Any], domain: Cells) -> Distances:
    p = table.get("p", _NORMS.get(table["kind"]))
    p = inf if p == "inf" else p
    if not isinstance(p, int | float) or isinstance(p, bool) or not p >= 1:
        raise SpecificationError(what="options.metric.p", expected='a number of at least 1 or "inf"', got=repr(p))
    return MetricLp(1.0, float(p), tuple(axis.width for axis in domain.axes)).matrix(domain)


def _sensitive(table: Mapping[str, Any], domain: Cells) -> Distances:
    """E_S (Xiang et al. 3.2)."""
    if not domain.sensitive:
        raise SpecificationError(
            what="domain.sensitive", must="list the sensitive values for metric sensitive", got="none"
        )
    chosen = np.zeros(domain.size, dtype=bool)
    chosen[list(domain.sensitive)] = True
    distances = np.where(chosen[:, None] | chosen[None, :], 1.0, 2.0)
    np.fill_diagonal(distances, 0.0)
    return distances


def _graph(table: Mapping[str, Any], domain: Cells) -> Distances:
    """Shortest paths in a policy graph (Blowfish), by Floyd and Warshall."""
    if len(domain.axes) != 1:
        raise SpecificationError(f"options.metric of kind graph needs one axis, got {len(domain.axes)}")
    distances = np.full((domain.size, domain.size), inf)
    np.fill_diagonal(distances, 0.0)
    edges = table["edges"]
    if not isinstance(edges, list | tuple):
        raise SpecificationError(what="options.metric.edges", expected="a list", got=type(edges).__name__)
    for number, edge in enumerate(edges, start=1):
        where = f"options.metric.edges[{number}]"
        if not isinstance(edge, list | tuple) or len(edge) not in (2, 3):
            raise SpecificationError(what=where, expected="two values and, if wanted, a length", got=repr(edge))
        length = edge[2] if len(edge) == 3 else 1.0
        if not isinstance(length, int | float) or isinstance(length, bool) or not (isfinite(length) and length > 0):
            raise SpecificationError(what=where, must="have a finite length > 0", got=repr(length))
        try:
            x, y = (domain.axes[0].locate(end) for end in edge[:2])
        except QueryError as error:
            words = f"{where}: {error}"
            raise SpecificationError(words, what=where, expected=error.expected, got=error.got) from None
        if x == y:
            raise SpecificationError(what=where, must="join two different values", got=repr(edge))
        distances[x, y] = distances[y, x] = min(distances[x, y], float(length))
    for middle in range(domain.size):
        np.minimum(distances, distances[:, middle, None] + distances[None, middle, :], out=distances)
    return distances


def _matrix(table: Mapping[str, Any], domain: Cells) -> Distances:
    try:
        distances = np.array(table["rows"], dtype=np.float64)
    except (TypeError, ValueError):
        raise SpecificationError(
            what="options.metric.rows", expected="a list of equally long lists of numbers"
        ) from None
    if distances.shape != (domain.size, domain.size):
        raise SpecificationError(
            what="options.metric.rows", expected=f"{domain.size} x {domain.size}", got=f"shape {distances.shape}"
        )
    return distances


_KINDS: dict[str, Callable[[Mapping[str, Any], Cells], Distances]] = {
    "ldp": _equal,
    "l1": _norm,
    "l2": _norm,
    "linf": _norm,
    "lp": _norm,
    "sensitive": _sensitive,
    "graph": _graph,
    "matrix": _matrix,
}
_PARAMETERS = {"lp": {"p"}, "graph": {"edges"}, "matrix": {"rows"}}


@dataclass(frozen=True)
class MetricGuarantee(Guarantee):
    """Epsilon times a metric, given by its table."""

    epsilon: float
    metric: Mapping[str, Any]

    def matrix(self, domain: Cells) -> NDArray[np.float64]:
        return self.epsilon * distances(self.metric, domain)

    def words(self) -> str:
        return (
            f"Metric privacy: no report is more than e^({self.epsilon:g} d) times likelier under one value than under "
            f"another at distance d ({_WORDS[self.metric['kind']]})."
        )

    def table(self) -> dict[str, Any]:
        return {"kind": "metric", "metric": dict(self.metric), "epsilon": self.epsilon}


_WORDS = {
    "ldp": "1 for any two different values",
    "l1": "differences summed over the axes",
    "l2": "Euclidean",
    "linf": "the largest difference over the axes",
    "lp": "an L^p norm of the differences over the axes",
    "sensitive": "1 where one of them is sensitive, otherwise 2",
    "graph": "the shortest path in the policy graph; nothing is promised where there is none",
    "matrix": "as the survey lists it",
}
