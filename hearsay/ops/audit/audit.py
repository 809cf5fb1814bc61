"""Attack a mechanism with its own device code, and compare what leaks with what is claimed.

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
from typing import Any

import numpy as np

from hearsay.mechanisms import Mechanism, Reports, build
from hearsay.mechanisms.domains.axis import Axis
from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.randomness import Random, secure
from hearsay.mechanisms.guarantees.promises import PureLDP
from hearsay.mechanisms.layout import select
from hearsay.mechanisms.oracles.finite_channel import losses
from hearsay.ops.audit.attack import Attack, Lengths
from hearsay.ops.audit.events import half_confidence, rows_of
from hearsay.ops.audit.fit import Fit, worst_fit
from hearsay.ops.audit.singles import draw_singles
from hearsay.ops.errors import OperationError

DRAWS, CONFIDENCE = 100_000, 0.9999
MAXIMUM_CELLS = 1 << 10  # there is a bound for every pair of cells
_VALUES, _FURTHER = 6, 4  # values whose pairs are all attacked; random ones, against the first of them
_SINGLES = 240  # reports of each value that are drawn one at a time
_EXACT_CELLS, _EXACT_OUTCOMES = 64, 1 << 14  # a larger channel is not listed


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
        """The pair with the greatest excess over its claim, or the nearest to it."""
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
        raise OperationError(what="domain", must=f"have at most {MAXIMUM_CELLS} cells to be audited", got=len(listed))
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
    """A few values whose pairs are all attacked: the pair with the greatest exact loss, the ends, the middle."""
    size = len(bound)
    chosen: list[int] = []
    if exact is not None:
        leaks = np.where(np.isinf(bound), -1.0, exact)
        chosen += [int(value) for value in np.unravel_index(np.argmax(leaks), leaks.shape)]
    finite = np.argwhere(np.isfinite(bound) & ~np.eye(size, dtype=bool))
    chosen += [int(value) for value in finite[0]] if len(finite) else []
    chosen += [0, size - 1, size // 2, 1, size // 2 - 1, size // 3]
    return list(dict.fromkeys(value for value in chosen if 0 <= value < size))[:_VALUES]


def _draw(mechanism: Mechanism, values: list[int], draws: int, random: Random) -> dict[int, Reports]:
    given = _values(mechanism)[np.array(values)]
    # All values in one batch, shuffled together as devices are.
    order = np.arange(len(values) * draws) % len(values)
    reports = mechanism.perturb(given[order], random)
    return {value: select(reports, slice(first, None, len(values))) for first, value in enumerate(values)}


def smaller(mechanism: Mechanism) -> Mechanism:
    """The same mechanism on the first cells of every axis; cells keep their width, so a metric keeps its meaning."""
    domain = _listed(mechanism)
    if not isinstance(domain, Cells):
        return type(mechanism).create(mechanism.epsilon, domain.smaller(MAXIMUM_CELLS), mechanism.canonical_options())
    most = int(MAXIMUM_CELLS ** (1 / len(domain.axes)))
    axes = tuple(_shortened(axis, min(axis.size, most)) for axis in domain.axes)
    if domain.blocks is not None or domain.sensitive is not None:
        raise OperationError(what="domain", must=f"have at most {MAXIMUM_CELLS} cells to be audited", got=domain.size)
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
