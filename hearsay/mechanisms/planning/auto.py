"""`mechanism = "auto"`: the choice by predicted error and report size, with the reason in words.

Where the domain has blocks or sensitive values, the survey has said what needs protection, and the mechanism made for
that is taken. Otherwise every candidate that the families name for the kind of domain predicts its standard error, for
ranges where values are ordered, for single values elsewhere; among those within 5% of the best the one with the
smallest report is taken, and among equals the one that is listed first.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from hearsay.mechanisms import catalogue
from hearsay.mechanisms.base import Mechanism
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.planning.report_size import report_bits

REFERENCE_REPORTS = 100_000
_AS_GOOD = 1.05
_ROUNDING = 1e-8  # variances are differences of numbers up to 1, right to 1e-16: smaller errors are all alike
# The first of these that a candidate predicts; in a family with other questions, the one that it names first.
_QUESTIONS = {"range": "ranges", "point": "single values", "marginal": "a cell of a table", "mean": "the mean"}

Create = Callable[[str, Any, Domain], Mechanism]


def _default(name: str, epsilon: Any, domain: Domain) -> Mechanism:
    return catalogue.create(name, epsilon, domain, {})


@dataclass(frozen=True)
class Candidate:
    """A mechanism with what counts in the choice."""

    mechanism: Mechanism
    question: str
    stderr: float
    report_bits: float

    @property
    def shown(self) -> str:
        """The standard error with the digits that are written; candidates in which these are alike are equals."""
        return f"{self.stderr:.3g}"

    def words(self) -> str:
        needed = max(1, ceil(self.report_bits))
        stderr = self.mechanism.domain.in_units(self.question, self.stderr)
        return f"{self.mechanism.ID} {stderr:.3g} with {needed} {'bit' if needed == 1 else 'bits'}"


def resolve(table: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The survey's table with a concrete mechanism and its options, and why it was chosen."""
    options, domain = table.get("options", {}), catalogue.parse_domain(table["domain"])
    if options != {}:
        got = ", ".join(options) if isinstance(options, Mapping) else type(options).__name__
        raise SpecificationError(
            what="options", expected='empty where mechanism is "auto"', got=got, ending=_who_takes(options, domain)
        )
    chosen, reason = choose(table["epsilon"], domain)
    resolved = {**table, "mechanism": chosen.ID, "epsilon": chosen.epsilon, "domain": domain.table()}
    return {**resolved, "options": chosen.canonical_options()}, reason


def _who_takes(options: Any, domain: Domain) -> str:
    """Which of the mechanisms that `auto` compares have these options."""
    if not isinstance(options, Mapping):
        return ""
    names = [
        f'"{name}"'
        for name in catalogue.CANDIDATES.get(domain.kind, ())
        if {*options} <= {option.name for option in catalogue.classes(name)[0].OPTIONS}
    ]
    return f"; to set it, write mechanism = {' or '.join(names)}" if names else ""


def first_candidate(domain: Domain) -> str | None:
    """The mechanism whose kind of promise a domain gets: the one made for what it declares, or the first compared."""
    declared = domain.calls_for()
    return declared[0] if declared is not None else next(iter(catalogue.CANDIDATES.get(domain.kind, ())), None)


def choose(epsilon: Any, domain: Domain, asked: str | None = None, create: Create = _default) -> tuple[Mechanism, str]:
    """The choice for a kind of question (`range`, `point`, ...; None: the domain's own), and why.

    The planner asks here too, so that it never recommends another mechanism than `auto` takes for the same question.
    """
    declared = domain.calls_for()
    if declared is not None:
        name, why = declared
        return create(name, epsilon, domain), f"{name}: {why}"
    names = catalogue.CANDIDATES.get(domain.kind, ())
    if not names:
        raise SpecificationError(f'mechanism "auto" has no choice for domains of kind {domain.kind}')
    built = [mechanism for name in names if (mechanism := _fitting(name, epsilon, domain, name == names[0], create))]
    predicted = [(mechanism, mechanism.predicted_stderr(REFERENCE_REPORTS)) for mechanism in built]
    known = dict.fromkeys((*(() if asked is None else (asked,)), *_QUESTIONS, *predicted[0][1]))
    question = next(name for name in known if any(name in errors for _, errors in predicted))
    candidates = [
        Candidate(mechanism, question, errors[question], report_bits(mechanism.layout))
        for mechanism, errors in predicted
        if question in errors
    ]
    least = max(min(candidate.stderr for candidate in candidates), _ROUNDING)
    good = [candidate for candidate in candidates if candidate.stderr <= _AS_GOOD * least]
    best = min(good, key=lambda candidate: (candidate.report_bits, max(float(candidate.shown), _ROUNDING)))
    others = sorted((other for other in candidates if other is not best), key=lambda other: other.stderr)
    words = _QUESTIONS.get(question, question)
    return best.mechanism, (
        f"{best.mechanism.ID}: the smallest report among the least errors; predicted standard error of {words} at "
        f"{REFERENCE_REPORTS} reports: {best.words()} a report"
        + (f" ({', '.join(other.words() for other in others)})" if others else "")
        + (f"; {best.mechanism.choices()}" if best.mechanism.choices() else "")
    )


def _fitting(name: str, epsilon: Any, domain: Domain, first: bool, create: Create) -> Mechanism | None:
    """The mechanism on this domain, or nothing where it does not fit, such as bits on a huge domain."""
    try:
        return create(name, epsilon, domain)
    except SpecificationError:
        if first:
            raise  # the first one fits every domain: it is the epsilon that is wrong
        return None
