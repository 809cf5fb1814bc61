"""`hearsay audit`: attack a mechanism with its own device code, and compare what leaks with what is claimed.

Where the channel can be listed, every value's reports are compared with it (`fit`). Beyond that several values, some of
them random, are attacked with many reports from the real `perturb`, with single ones from the bytes of a device, and
with their lengths. For every ordered pair the event that tells the two values apart best is looked for in one half of
the reports; the other half, which had no part in the choice, gives exact Clopper-Pearson limits for the event's two
probabilities and so a lower bound on the loss. All bounds hold together with the confidence asked for: a bound above
the claim proves that the mechanism breaks its promise.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import permutations
from math import isinf
from pathlib import Path
from typing import Any

import click
import numpy as np

from hearsay.collector.survey.survey import load
from hearsay.mechanisms import Mechanism, Reports, build, catalogue
from hearsay.mechanisms.domains.axis import Axis
from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.randomness import Random, secure, seeded
from hearsay.mechanisms.guarantees.promises import PureLDP
from hearsay.mechanisms.layout import select
from hearsay.mechanisms.oracles.finite_channel import losses
from hearsay.ops.audit.attack import Attack, Lengths
from hearsay.ops.audit.events import half_confidence, rows_of
from hearsay.ops.audit.fit import Fit, worst_fit
from hearsay.ops.audit.singles import draw_singles
from hearsay.ops.config import Settings
from hearsay.ops.errors import CheckFailed, OperationError
from hearsay.ops.terminal.options import NumberRange, json_option, seed_option, uses
from hearsay.ops.terminal.present import notes, print_json, print_table

DRAWS, CONFIDENCE = 100_000, 0.9999
MAXIMUM_CELLS = 1 << 10  # every pair of cells has a bound, and a report may be weighed for every cell
_VALUES, _FURTHER = 6, 4  # values whose pairs are all attacked; random ones, against the first of them
_SINGLES = 240  # reports of each value that are drawn one at a time
_EXACT_CELLS, _EXACT_OUTCOMES = 64, 1 << 14  # a larger channel is not listed
_COLUMNS = ("mechanism", "values", "claimed", "exact", "audited", "fit", "microseconds", "holds")


@dataclass(frozen=True)
class Pair:
    """The loss of one value against another: promised, exact where the channel can be listed, and proved by attack."""

    one: int
    other: int
    claimed: float
    exact: float | None
    audited: float

    @property
    def holds(self) -> bool:
        return self.audited <= self.claimed and (self.exact is None or self.exact <= self.claimed * (1 + 1e-9) + 1e-12)


@dataclass(frozen=True)
class Audit:
    """Every pair that was attacked, the value that fits the channel worst, and the time of a report by value."""

    mechanism: str
    draws: int
    confidence: float
    pairs: tuple[Pair, ...]
    fit: Fit | None
    microseconds: dict[int, float]

    @property
    def fits(self) -> bool:
        return self.fit is None or self.fit.chance >= 1 - self.confidence

    @property
    def holds(self) -> bool:
        return self.fits and all(pair.holds for pair in self.pairs)

    @property
    def worst(self) -> Pair:
        """The pair that comes nearest to its claim or exceeds it most."""
        return max(self.pairs, key=lambda pair: (not pair.holds, pair.audited - pair.claimed, pair.audited))

    def table(self) -> dict[str, Any]:
        """As `--json` prints it."""
        pairs = [{**asdict(pair), "holds": pair.holds} for pair in self.pairs]
        return {
            "mechanism": self.mechanism,
            "draws": self.draws,
            "confidence": self.confidence,
            "holds": self.holds,
            "fit": None if self.fit is None else asdict(self.fit),
            "microseconds": {str(value): round(time, 1) for value, time in self.microseconds.items()},
            "pairs": pairs,
        }


def audit(
    subject: Mechanism | Mapping[str, Any], draws: int = DRAWS, random: Random | None = None,
    confidence: float = CONFIDENCE,
) -> Audit:  # fmt: skip
    """Attack a mechanism, given itself or as a survey's table, with `draws` reports of each value.

    Without a source of randomness the secure one is used, as on a device.
    """
    mechanism = subject if isinstance(subject, Mechanism) else build(subject)
    listed = _values(mechanism)
    if len(listed) > MAXIMUM_CELLS:
        raise OperationError(f"domain must have at most {MAXIMUM_CELLS} cells to be audited, got {len(listed)}")
    bound = _bound(mechanism, len(listed))
    exact = _exact(mechanism, len(listed))
    source = random or secure()
    values = _values_to_attack(bound, exact)
    further = [int(value) for value in source.below(len(bound), _FURTHER) if int(value) not in values]
    wanted = [*permutations(values, 2), *((one, values[0]) for one in further), *((values[0], one) for one in further)]
    pairs = [pair for pair in dict.fromkeys(wanted) if not isinf(bound[pair])]
    attacked = list(dict.fromkeys([*values, *further]))
    singles = draw_singles(mechanism, attacked, _SINGLES, source)
    looks: list[Attack | Lengths] = [
        Attack(mechanism, _draw(mechanism, attacked, draws, source), draws),
        Attack(mechanism, singles.reports, _SINGLES),
        Lengths(singles.lengths, _SINGLES),
    ]
    tail = half_confidence(confidence, len(looks) * len(pairs))
    result = [
        Pair(
            *pair,
            float(bound[pair]),
            None if exact is None else float(exact[pair]),
            max(look.shown(*pair, tail) for look in looks),
        )
        for pair in pairs
    ]
    fit = worst_fit(mechanism, len(bound), draws, source)
    return Audit(mechanism.ID, draws, confidence, tuple(result), fit, singles.microseconds)


def _exact(mechanism: Mechanism, values: int) -> Floats | None:
    """The channel's own losses, where it is small enough to be listed, with a row for every value."""
    if mechanism.domain.size > _EXACT_CELLS or mechanism.layout.outcomes > _EXACT_OUTCOMES:
        return None
    try:
        channel = mechanism.channel()
    except SpecificationError:
        return None
    return losses(channel) if len(channel) == values else None


def _values(mechanism: Mechanism) -> Any:
    """Every value, as `perturb` takes them: what the mechanism lists for its channel's rows, else the domain's."""
    listed = mechanism.listed_values()
    return rows_of(mechanism, np.arange(_listed(mechanism).size)) if listed is None else listed


def _bound(mechanism: Mechanism, values: int) -> Floats:
    if mechanism.listed_values() is None:
        return mechanism.guarantee.matrix(_listed(mechanism))
    if not isinstance(mechanism.guarantee, PureLDP):
        raise OperationError(f"audit needs the same promise for all values of a domain of kind {mechanism.domain.kind}")
    return np.where(np.eye(values, dtype=bool), 0.0, mechanism.guarantee.epsilon)


def _values_to_attack(bound: Floats, exact: Floats | None) -> list[int]:
    """The pair that the channel says leaks most, the ends, the middle: few values, and every pair of them."""
    size = len(bound)
    chosen: list[int] = []
    if exact is not None:
        said = np.where(np.isinf(bound), -1.0, exact)
        chosen += [int(value) for value in np.unravel_index(np.argmax(said), said.shape)]
    finite = np.argwhere(np.isfinite(bound) & ~np.eye(size, dtype=bool))
    chosen += [int(value) for value in finite[0]] if len(finite) else []
    chosen += [0, size - 1, size // 2, 1, size // 2 - 1, size // 3]
    return list(dict.fromkeys(value for value in chosen if 0 <= value < size))[:_VALUES]


def _draw(mechanism: Mechanism, values: list[int], draws: int, random: Random) -> dict[int, Reports]:
    given = _values(mechanism)[np.array(values)]
    # All values in one batch, shuffled together as devices are.
    order = np.arange(len(values) * draws) % len(values)
    reports = mechanism.perturb(given[order], random)
    return {value: select(reports, slice(place, None, len(values))) for place, value in enumerate(values)}


@click.command()
@click.argument("subject", metavar="MECHANISM|SURVEY.toml")
@click.option("--draws", type=click.IntRange(1_000, 10_000_000), default=DRAWS, show_default=True,
              help="Reports of each value.")  # fmt: skip
@click.option("--confidence", type=NumberRange(0.5, 1, max_open=True), default=CONFIDENCE, show_default=True,
              help="How sure all bounds together are.")  # fmt: skip
@click.option("--all-pairs", is_flag=True, help="Show every pair of values that was attacked, not only the worst.")
@seed_option
@json_option
@uses("plugins")
def command(
    settings: Settings,
    subject: str,
    draws: int,
    confidence: float,
    all_pairs: bool,
    seed: int | None,
    as_json: bool,
) -> None:
    """Attack a mechanism's reports and compare with the claimed epsilon.

    A mechanism's id audits each of its examples, a survey file that survey (on the first cells of every axis, where
    it has more than 1024). Exits with 1 where the audit proves a greater loss than claimed.
    """
    random = secure() if seed is None else seeded(seed)
    audits = []
    for name, mechanism in _subjects(subject):
        audits.append((name, audit(mechanism, draws, random, confidence)))
        notes().print(f"audited {name}", markup=False)
    if as_json:
        print_json([result.table() for _, result in audits])
    else:
        _print(audits, all_pairs)
    broken = [f"{name}: {_words(result)}" for name, result in audits if not result.holds]
    if broken:
        raise CheckFailed("; ".join(broken))


def _subjects(subject: str) -> list[tuple[str, Mechanism]]:
    if subject in catalogue.MECHANISMS:
        examples = [build({"mechanism": subject, **example}) for example in catalogue.examples(subject)]
        return [(f"{subject} ({number})", example) for number, example in enumerate(examples, start=1)]
    if not subject.endswith(".toml") and not Path(subject).exists():
        known = ", ".join(catalogue.names())
        raise OperationError(f"MECHANISM|SURVEY.toml must be a file or one of {known}, got {subject!r}")
    survey = load(subject)
    if survey.mechanism.domain.size <= MAXIMUM_CELLS:
        return [(survey.name, survey.mechanism)]
    smaller = _smaller(survey.mechanism)
    return [(f"{survey.name} (on {smaller.domain.size} of its {survey.mechanism.domain.size} cells)", smaller)]


def _smaller(mechanism: Mechanism) -> Mechanism:
    """The same mechanism on the first cells of every axis; cells keep their width, so a metric keeps its meaning."""
    domain = _listed(mechanism)
    if not isinstance(domain, Cells):
        return type(mechanism).create(mechanism.epsilon, domain.smaller(MAXIMUM_CELLS), mechanism.canonical_options())
    most = int(MAXIMUM_CELLS ** (1 / len(domain.axes)))
    axes = tuple(_shortened(axis, min(axis.size, most)) for axis in domain.axes)
    if domain.blocks is not None or domain.sensitive is not None:
        raise OperationError(f"domain must have at most {MAXIMUM_CELLS} cells to be audited, got {domain.size}")
    return type(mechanism).create(mechanism.epsilon, replace(domain, axes=axes), mechanism.canonical_options())


def _listed(mechanism: Mechanism) -> Any:
    if not hasattr(mechanism.domain, "shape"):
        raise OperationError(
            f"audit needs a domain whose values can be listed, got one of kind {mechanism.domain.kind}"
        )
    return mechanism.domain


def _shortened(axis: Axis, size: int) -> Axis:
    labels = None if axis.labels is None else axis.labels[:size]
    high = axis.units(size) if axis.continuous else None
    return replace(axis, size=size, labels=labels, high=high)


def _print(audits: list[tuple[str, Audit]], all_pairs: bool) -> None:
    rows = [
        [
            name,
            f"{pair.one} against {pair.other}",
            pair.claimed,
            pair.exact,
            pair.audited,
            None if result.fit is None else result.fit.chance,
            _times(result),
            pair.holds and result.fits,
        ]
        for name, result in audits
        for pair in (result.pairs if all_pairs else [result.worst])
    ]
    first = audits[0][1]
    caption = (
        f"{first.draws:,} reports a value; audited is a lower bound on ln of the likelihood ratio that holds with "
        f"confidence {first.confidence:g}; it must not exceed what is claimed. fit is the chance that reports differ "
        f"so much from the channel; microseconds are the medians of single reports, by value"
    )
    print_table("audit", _COLUMNS, rows, caption)


def _times(result: Audit) -> str:
    times = result.microseconds.values()
    return f"{min(times):.0f}-{max(times):.0f}"


def _words(result: Audit) -> str:
    pair = result.worst
    if pair.holds and result.fit is not None:
        return (
            f"{result.fit.way} of value {result.fit.value} must follow the channel, but the chance of what they show "
            f"is {result.fit.chance:.2g}"
        )
    exact = "" if pair.exact is None else f", the channel itself {pair.exact:.4g}"
    return (
        f"values {pair.one} and {pair.other} must not leak more than {pair.claimed:.4g}, but the reports prove "
        f"at least {pair.audited:.4g}{exact}"
    )
