"""A plan in words and numbers: what the planner predicts, with bytes, memory and time beside it."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from math import ceil, prod
from pathlib import Path
from typing import Any, overload

import numpy as np

from hearsay.collector.describe.risk import risk_words
from hearsay.collector.showing import Rows
from hearsay.collector.survey.survey import Survey
from hearsay.collector.wire.codec import codec
from hearsay.collector.wire.sizes import single_bytes
from hearsay.mechanisms import Mechanism, catalogue, secure
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.domains.given import values_of
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.guarantees.promises import PureLDP
from hearsay.mechanisms.planning.asked import Asked
from hearsay.mechanisms.planning.plan import REFERENCE_USERS, Prediction, Target
from hearsay.mechanisms.planning.plan import plan as predict
from hearsay.mechanisms.planning.solve import EPSILON_HIGH, USERS_HIGH

_TIMED_REPORTS, _TIMED_TURNS = 8, 3
_ONE_PERCENT = 0.01


@dataclass(frozen=True)
class PlanRow:
    """One mechanism's way to what was asked for."""

    mechanism: str
    users: int | None
    epsilon: float | None
    within: float | None  # median half width of the 95% interval, in the answer's own unit
    within_90: float | None  # nine surveys in ten are narrower
    worst: float | None  # the largest over all shapes; None where it is unbounded
    bytes: int  # of one report
    state_bytes: int
    device_us: float  # processor time of one report
    detects: float | None  # the least difference between two halves of the users found in four of five tries
    recommended: bool
    reason: str
    shape: str  # of the users: what was guessed
    unit: str  # of `within`: share, rank, or the domain's own

    def table(self) -> dict[str, Any]:
        """The row as JSON has it."""
        return asdict(self)


@dataclass(frozen=True)
class _Brief:
    """A row as a terminal of 80 columns has it."""

    row: PlanRow

    def table(self) -> dict[str, Any]:
        names = ("mechanism", "users", "epsilon", "within", "within_90", "worst", "bytes")
        return {**{name: getattr(self.row, name) for name in names}, "recommended": "*" if self.row.recommended else ""}


@dataclass(frozen=True)
class Plan(Sequence[PlanRow]):
    """Rows, best first; and what the numbers mean, in words."""

    query: str
    rows: tuple[PlanRow, ...]
    words: tuple[str, ...]
    left_out: Mapping[str, str]

    @overload
    def __getitem__(self, index: int) -> PlanRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[PlanRow]: ...
    def __getitem__(self, index: int | slice) -> PlanRow | Sequence[PlanRow]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[PlanRow]:
        return iter(self.rows)

    def __repr__(self) -> str:
        rows = repr(Rows(_Brief(row) for row in self.rows[:5]))
        return f"Plan for {self.query}\n{rows}" + (f"\n... {len(self) - 5} more" if len(self) > 5 else "")

    def _repr_html_(self) -> str:
        return Rows(self.rows)._repr_html_() + "".join(f"<p>{escape(line)}</p>" for line in self.words)

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame."""
        return Rows(self.rows).to_pandas()

    def to_polars(self) -> Any:
        """The rows as a polars DataFrame."""
        return Rows(self.rows).to_polars()

    def to_arrow(self) -> Any:
        """The rows as a pyarrow Table."""
        return Rows(self.rows).to_arrow()

    @property
    def recommended(self) -> PlanRow | None:
        """The row to take; None where no mechanism reaches what was asked for."""
        return next((row for row in self.rows if row.recommended), None)

    @property
    def reached(self) -> bool:
        """Whether some row reaches the target."""
        return any(None not in (row.users, row.epsilon, row.within) for row in self.rows)


def plan(
    source: Survey | Domain | Mapping[str, Any] | str | Path,
    query: str,
    *,
    users: int | None = None,
    epsilon: float | None = None,
    within: float | None = None,
    shape: str | None = None,
    values: Any = None,
    mechanisms: Sequence[str] = (),
) -> Plan:
    """Which mechanism, which epsilon, how many users: two of `users`, `epsilon` and `within` give the third.

    `source` is a domain's table, or a survey (its table or its file), whose domain is taken. `within` is half the 95%
    interval of the query's answer, in its own unit. `shape` names how the users' values are guessed to lie, `values`
    are values of real people instead; without either the worst shape is taken, and a quantile is planned in ranks.

    >>> planned = plan({"kind": "categorical", "size": 16}, "point 3", users=10_000, within=0.02)
    >>> planned.recommended.mechanism, planned.recommended.epsilon < 3
    ('olh', True)
    """
    asked = asked_of(source, query, shape, None, mechanisms)
    if values is not None:
        asked = asked_of(source, query, shape, values_of(asked.domain, values), mechanisms)
    return described(asked, Target(users, epsilon, within))


def asked_of(source: Any, query: str, shape: str | None, values: Any, mechanisms: Sequence[str]) -> Asked:
    """The question, held against the domain of a survey or of a table."""
    if isinstance(source, Domain):
        return Asked.of(source, query, mechanisms, None, shape, values)
    if isinstance(source, Mapping) and "domain" not in source:
        return Asked.of(catalogue.parse_domain(source), query, mechanisms, None, shape, values)
    survey = Survey.of(source)
    chosen = survey.mechanism
    if survey.reason is not None:  # "auto": the survey names no mechanism
        return Asked.of(chosen.domain, query, mechanisms, None, shape, values)
    return Asked.of(chosen.domain, query, mechanisms, {chosen.ID: chosen.lasting_options()}, shape, values, chosen)


def domain_from(kind: str, size: str, keys: Mapping[str, Any]) -> Domain:
    """A domain by its kind, its size as people write it (`Domain.sized`; empty: none), and further keys."""
    if kind not in catalogue.DOMAINS:
        raise SpecificationError(what="kind", expected=f"one of {', '.join(catalogue.DOMAINS)}", got=repr(kind))
    sized: dict[str, Any] = catalogue.DOMAINS[kind].load().sized(size) if size else {}
    domain: Domain = catalogue.parse_domain({"kind": kind, **sized, **keys})
    return domain


def described(asked: Asked, target: Target) -> Plan:
    """Predictions with bytes, memory, time and words."""
    predictions = predict(asked, target)
    rows = tuple(_row(asked, target, each) for each in predictions)
    return Plan(asked.question.text, rows, tuple(_words(asked, predictions)), asked.left_out())


def _row(asked: Asked, target: Target, each: Prediction) -> PlanRow:
    return PlanRow(
        mechanism=each.name,
        users=each.users,
        epsilon=each.epsilon,
        within=each.within,
        within_90=each.within_90,
        worst=each.worst,
        bytes=single_bytes(codec(each.built)),
        state_bytes=8 * sum(prod(shape) for shape in each.built.arrays.values()),
        device_us=round(device_us(each.built), 1),
        detects=each.detects if each.reached else None,
        recommended=each.recommended,
        reason=each.reason or _reason(target, each),
        shape=each.shape,
        unit=_unit(asked, each),
    )


def _unit(asked: Asked, each: Prediction) -> str:
    if each.in_ranks:
        return "rank"
    query = asked.query_of(type(each.built).ESTIMATE)
    return "share" if query is None or not query.OWN_UNIT else "domain"


def _reason(target: Target, each: Prediction) -> str:
    if each.reached:
        return each.built.ERROR_FLOOR and f"an error remains that users do not remove: {each.built.ERROR_FLOOR}"
    if each.refusal is not None:
        return f"no interval can be given: {each.refusal}"
    best = "no interval" if each.within is None else f"+-{each.within:.3g}"
    if target.epsilon is None:
        return f"no epsilon up to {EPSILON_HIGH:g} reaches it: {best} at {EPSILON_HIGH:g}"
    if target.users is None:
        return f"no number of users up to {USERS_HIGH:,} reaches it: {best} at {REFERENCE_USERS:,}"
    return "no interval can be given"


def _words(asked: Asked, predictions: list[Prediction]) -> Iterator[str]:
    """What holds of the recommended row, or of the best where none reaches the target."""
    best = next((each for each in predictions if each.recommended), predictions[0])
    yield best.built.guarantee.words()
    if isinstance(best.built.guarantee, PureLDP):
        yield risk_words(best.built.epsilon)
    if best.reached and _unit(asked, best) != "domain" and best.users is not None and best.within is not None:
        needed = ceil(best.users * (best.within / _ONE_PERCENT) ** 2)
        yield f"About {needed:,} users make it +-1% at epsilon {best.epsilon:g}."
    if best.built.SAMPLES:
        yield (
            f"{best.name} samples: a third to a half of its error at epsilon 1 stays however large epsilon is. "
            "More users help, a larger epsilon hardly does."
        )
    if best.in_ranks:
        yield "Without a shape a quantile is planned in ranks: the share of users between the answer and the truth."
    elif asked.shape is None and asked.values is None:
        yield (
            f"Planned for the shape {best.shape}, the worst of {', '.join(asked.shapes(best.built))} for {best.name}; "
            "where values are known to lie otherwise, give their shape, or values."
        )


def device_us(mechanism: Mechanism) -> float:
    """Microseconds of processor time that a device needs for one report: the least of some turns."""
    wire, random = codec(mechanism), secure()
    people = mechanism.domain.simulated(mechanism.domain.shapes()[0], _TIMED_REPORTS, np.random.default_rng(1))
    turns = []
    for _ in range(_TIMED_TURNS):
        started = time.process_time()
        for number in range(_TIMED_REPORTS):
            wire.encode_singles(mechanism.perturb(people[number : number + 1], random))
        turns.append(time.process_time() - started)
    return 1e6 * min(turns) / _TIMED_REPORTS
