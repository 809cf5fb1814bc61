"""What is planned and then simulated: every mechanism, each question that it answers, shapes, users and epsilons."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hearsay.mechanisms import catalogue
from hearsay.mechanisms.errors import MechanismError
from hearsay.mechanisms.planning.asked import Asked

USERS, QUICK_USERS = (2_000, 20_000, 200_000), (2_000,)
EPSILONS, QUICK_EPSILONS = (0.5, 1.0, 4.0), (1.0,)
SHAPES = ("uniform", "zipf", "normal")
_DOMAINS: dict[str, dict[str, Any]] = {
    "binary": {},
    "categorical": {"size": 16},
    "ordinal": {"size": 64},
    "grid": {"sizes": [8, 8]},
    "attributes": {"names": ["a", "b", "c", "d"], "order": 2},
    "count": {"max": 8},
    "number": {"low": 0, "high": 10},
    "key-value": {"keys": 8},
}
# One question for each verb; the first that a domain accepts.
_QUESTIONS: dict[str, tuple[str, ...]] = {
    "point": ("point 1", "point 1 2"),
    "range": ("range 3 20", "range 1:3 2:5", "range 1 3"),
    "prefix": ("prefix 31", "prefix 3"),
    "quantile": ("quantile 0.5 0.9", "quantile 0.5 1"),
    "top": ("top 3",),
    "marginal": ("marginal a b",),
    "conditional": ("conditional a given b",),
    "mean": ("mean", "mean 1"),
}
# Not an interval of the data's own kind: a test and a choice among trees; sums that a survey names itself.
_NOT_PLANNED = ("association", "tree", "linear", "auc", "weighted", "told", "outside")


@dataclass(frozen=True)
class Case:
    """One mechanism on one kind of domain, with every question that it answers there."""

    mechanism: str
    domain: Any
    options: dict[str, Any]
    questions: tuple[str, ...]
    epsilons: tuple[float, ...] = EPSILONS  # its own alone, where options fix what a report promises

    def asked(self, question: str, shape: str) -> Asked:
        return Asked.of(self.domain, question, [self.mechanism], {self.mechanism: self.options}, shape)


def every_mechanism() -> tuple[str, ...]:
    """Those with a domain here."""
    return tuple(name for name in catalogue.shipped() if any(kind in _DOMAINS for kind in catalogue.kinds(name)))


def cases(mechanism: str) -> Iterator[Case]:
    """A case for each kind of domain; where the plain one does not fit, the mechanism's first example of the kind."""
    for kind in catalogue.kinds(mechanism):
        if kind not in _DOMAINS:
            continue
        examples = [table for table in catalogue.examples(mechanism) if table["domain"]["kind"] == kind]
        tables = [{"domain": {"kind": kind, **_DOMAINS[kind]}}, *examples]
        for table in tables:
            domain, options = catalogue.parse_domain(table["domain"]), table.get("options", {})
            for epsilons in (EPSILONS, (table.get("epsilon", 1.0),)):
                questions = tuple(_answered(mechanism, domain, options, epsilons))
                if questions:
                    break
            if questions:
                yield Case(mechanism, domain, options, questions, epsilons)
                break


def _answered(mechanism: str, domain: Any, options: dict[str, Any], epsilons: tuple[float, ...]) -> Iterator[str]:
    for verb in catalogue.QUERIES:
        if verb in _NOT_PLANNED:
            continue
        for question in _QUESTIONS.get(verb, (verb,)):
            try:
                asked = Asked.of(domain, question, [mechanism], {mechanism: options}, SHAPES[0])
                asked.widths(mechanism, epsilons[len(epsilons) // 2])
            except MechanismError:
                continue
            yield question
            break
