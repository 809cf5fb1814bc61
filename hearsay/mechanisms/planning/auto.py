"""`mechanism = "auto"`: the choice by predicted error and report size, with the reason in words.

Where the domain has blocks or sensitive values, the survey has said what needs protection, and the mechanism made for
that is taken. Otherwise every candidate for the kind of domain predicts its standard error, for ranges where values
are ordered, for single values elsewhere; among those within 5% of the best the one with the smallest report is taken.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, log2
from typing import Any

from hearsay.mechanisms import catalogue
from hearsay.mechanisms.base import Mechanism
from hearsay.mechanisms.domains.domain import Domain, parse
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.layout import Layout, Variant

REFERENCE_REPORTS = 100_000
_AS_GOOD = 1.05
_ORACLES = ("grr", "ss", "oue", "olh", "hrr")
_RANGES = ("hierarchical", "haar", "flat")
# Where one method is the published default for a kind, it is taken without a contest.
_DEFAULTS = {"attributes": "inp-ht", "key-value": "privkv", "count": "em"}


@dataclass(frozen=True)
class Candidate:
    """A mechanism with what counts in the choice."""

    mechanism: Mechanism
    stderr: float
    report_bits: float

    def words(self) -> str:
        needed = max(1, ceil(self.report_bits / 8))
        return f"{self.mechanism.ID} {self.stderr:.3g} with {needed} {'byte' if needed == 1 else 'bytes'}"


def resolve(table: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The survey's table with a concrete mechanism and its options, and why it was chosen."""
    options = table.get("options", {})
    if options != {}:
        got = ", ".join(options) if isinstance(options, Mapping) else type(options).__name__
        raise SpecificationError(f'options must be empty where mechanism is "auto", got {got}')
    domain = parse(table["domain"])
    chosen, reason = _choose(table["epsilon"], domain)
    resolved = {**table, "mechanism": chosen.ID, "epsilon": chosen.epsilon, "domain": domain.table()}
    return {**resolved, "options": chosen.canonical_options()}, reason


def _choose(epsilon: Any, domain: Domain) -> tuple[Mechanism, str]:
    if domain.blocks is not None and domain.sensitive is not None:
        raise SpecificationError('domain must have blocks or sensitive, not both, where mechanism is "auto"')
    if domain.blocks is not None:
        return _create(
            "block-hr", epsilon, domain
        ), "block-hr: the domain has blocks, within which values are protected"
    if domain.sensitive is not None:
        return _create(
            "highlow-hr", epsilon, domain
        ), "highlow-hr: the domain lists sensitive values, which it protects"
    if domain.kind in _DEFAULTS:
        name = _DEFAULTS[domain.kind]
        return _create(name, epsilon, domain), f"{name}: the default for domains of kind {domain.kind}"
    names = (*_ORACLES, *(_RANGES if domain.kind in ("ordinal", "grid") else ()))
    built = [mechanism for name in names if (mechanism := _fitting(name, epsilon, domain)) is not None]
    predicted = [(mechanism, mechanism.predicted_stderr(REFERENCE_REPORTS)) for mechanism in built]
    question = "range" if any("range" in errors for _, errors in predicted) else "point"
    candidates = [
        Candidate(mechanism, errors[question], report_bits(mechanism.layout))
        for mechanism, errors in predicted
        if question in errors
    ]
    least = min(candidate.stderr for candidate in candidates)
    good = [candidate for candidate in candidates if candidate.stderr <= _AS_GOOD * least]
    best = min(good, key=lambda candidate: (candidate.report_bits, candidate.stderr))
    others = sorted((other for other in candidates if other is not best), key=lambda other: other.stderr)
    asked = "ranges" if question == "range" else "single values"
    return best.mechanism, (
        f"{best.mechanism.ID}: the smallest report among the least errors; predicted standard error of {asked} at "
        f"{REFERENCE_REPORTS} reports: {best.words()} a report"
        + (f" ({', '.join(other.words() for other in others)})" if others else "")
    )


def _create(name: str, epsilon: Any, domain: Domain) -> Mechanism:
    if name not in catalogue.MECHANISMS:
        raise SpecificationError(f'mechanism "auto" has no choice for domains of kind {domain.kind}')
    return catalogue.create(name, epsilon, domain, {})


def _fitting(name: str, epsilon: Any, domain: Domain) -> Mechanism | None:
    """The mechanism on this domain, or nothing where it does not fit, such as bits on a huge domain."""
    if name not in catalogue.MECHANISMS or domain.kind not in catalogue.kinds(name):
        return None
    try:
        return _create(name, epsilon, domain)
    except SpecificationError:
        if name == _ORACLES[0]:
            raise  # the first one fits every domain: it is the epsilon that is wrong
        return None


def report_bits(layout: Layout) -> float:
    """The bits that the largest kind of report needs, its kind included."""
    return log2(len(layout.variants)) + max(map(_bits, layout.variants))


def _bits(variant: Variant) -> float:
    digits = variant.vector.length * log2(variant.vector.bound) if variant.vector else 0.0
    return log2(variant.alphabet) + digits
