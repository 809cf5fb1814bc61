"""Whether another mechanism with the same kind of promise would have less error on the same domain.

Compared are the candidates of `auto`, by the predicted standard error of the question that the survey's own mechanism
is first of all for. Differences below 5% are not worth a word. A survey whose levels are fixed, which may have been
optimised for another epsilon, is also compared with the same mechanism with levels for its own; not so where they are
the best ones for another workload, which the file of a registered survey no longer names.
"""

from collections.abc import Mapping
from functools import lru_cache
from math import inf
from typing import NamedTuple

from hearsay.mechanisms import catalogue
from hearsay.mechanisms.base import Mechanism
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.planning.auto import REFERENCE_REPORTS
from hearsay.mechanisms.ranges.hierarchical.level_plan import WORKLOADS

_WORTH = 0.95
_PLANNED, _LARGEST = "hierarchical", 1 << 10  # its levels are planned, which takes seconds on more cells than that
_REMEMBERED = 256  # candidates: one whose levels are planned takes a second, and many surveys have the same domain
_WORDS = {"range": "ranges", "point": "single values", "marginal": "cells of tables", "mean": "means"}


def better_choice(mechanism: Mechanism) -> str | None:
    """One line that names the best candidate and what it would save; None where the choice is a good one.

    >>> from hearsay.mechanisms import build
    >>> three = {"epsilon": 1.0, "domain": {"kind": "categorical", "size": 3}}
    >>> better_choice(build({"mechanism": "hrr", **three}))
    'grr would have 22% less error here, of single values'
    >>> better_choice(build({"mechanism": "grr", **three}))
    """
    domain = mechanism.domain
    if domain.calls_for() is not None:
        return None
    own = mechanism.predicted_stderr(REFERENCE_REPORTS)
    question = next((name for name in _WORDS if name in own), None)
    if question is None:
        return None
    names = [name for name in catalogue.CANDIDATES.get(domain.kind, ()) if name != mechanism.ID]
    if mechanism.ID == _PLANNED and _is_fixed(mechanism):
        names.append(_PLANNED)
    if domain.size > _LARGEST:
        names = [name for name in names if name != _PLANNED]
    errors = {name: error for name in names if (error := _error(name, mechanism, question)) is not None}
    if errors.get(mechanism.ID, inf) < _WORTH * own[question] and _has_a_workload(mechanism):
        del errors[mechanism.ID]
    best = min(errors, key=errors.__getitem__, default=None)
    if best is None or errors[best] >= _WORTH * own[question]:
        return None
    saved = 1 - errors[best] / own[question]
    if best == mechanism.ID:
        best = f'options.levels = "optimised" (for epsilon {mechanism.epsilon:g}; those of the file are fixed)'
    return f"{best} would have {saved:.0%} less error here, of {_WORDS[question]}"


def _is_fixed(mechanism: Mechanism) -> bool:
    """Whether its levels stand in the survey's file and could be optimised."""
    lasting = mechanism.lasting_options().get("levels")
    return lasting == "optimised" and mechanism.options["levels"] != lasting


def _has_a_workload(mechanism: Mechanism) -> bool:
    """Whether its levels are the best ones for some workload at its epsilon: then their error elsewhere was chosen."""
    for workload in WORKLOADS:
        other = catalogue.create(mechanism.ID, mechanism.epsilon, mechanism.domain, {"workload": workload})
        if other.canonical_options()["levels"] == mechanism.options["levels"]:
            return True
    return False


def _error(name: str, mechanism: Mechanism, question: str) -> float | None:
    """What another mechanism predicts; None where it does not fit or promises something else."""
    candidate = _candidate(name, mechanism.epsilon, mechanism.domain)
    if candidate is None or candidate.promise is not type(mechanism.guarantee):
        return None
    return candidate.errors.get(question)


class _Candidate(NamedTuple):
    """Which kind of promise it makes, and the standard errors that it predicts."""

    promise: type
    errors: Mapping[str, float]


@lru_cache(maxsize=_REMEMBERED)
def _candidate(name: str, epsilon: float, domain: Domain) -> _Candidate | None:
    """A mechanism with the default options; None where it does not fit the domain."""
    try:
        other = catalogue.create(name, epsilon, domain, {})
    except SpecificationError:
        return None
    return _Candidate(type(other.guarantee), other.predicted_stderr(REFERENCE_REPORTS))
