"""The planner: for every mechanism that could answer a question, the third of users, epsilon and width."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isfinite, sqrt

from hearsay.mechanisms.base import EPSILON_LIMIT, Mechanism
from hearsay.mechanisms.errors import MechanismError, SpecificationError
from hearsay.mechanisms.estimates.estimate import Z95
from hearsay.mechanisms.planning.asked import Asked
from hearsay.mechanisms.planning.auto import choose
from hearsay.mechanisms.planning.solve import CLOSE, EPSILON_HIGH, epsilon_for, users_for
from hearsay.mechanisms.planning.widths import Width

# Two halves of the users differ visibly in four of five tries at 2.8 (1.96 + 0.84) standard errors of the difference.
_VISIBLE = 2.8
_REFERENCE_EPSILON, REFERENCE_USERS = 1.0, 10_000
_ALIKE = 1.01  # widths this near to each other are taken for equal where a shape is chosen
_NEAR_EPSILON, _NEAR_USERS = 2.0, 10.0
VALUES = "values"  # the name of a guess that is a file's values


@dataclass(frozen=True)
class Target:
    """Two of the three; the third is what is looked for."""

    users: int | None = None
    epsilon: float | None = None
    within: float | None = None

    def __post_init__(self) -> None:
        given = [name for name in ("users", "epsilon", "within") if getattr(self, name) is not None]
        if len(given) != 2:
            got = ", ".join(given) or "none"
            raise SpecificationError(what="two of users, epsilon and within", expected="given", got=got)
        if self.users is not None and self.users < 1:
            raise SpecificationError(what="users", expected="at least 1", got=self.users)
        if self.epsilon is not None and not 0 < self.epsilon <= EPSILON_LIMIT:
            raise SpecificationError(
                what="epsilon", expected=f"> 0 and at most {EPSILON_LIMIT:g}", got=f"{self.epsilon:g}"
            )
        if self.within is not None and not (self.within > 0 and isfinite(self.within)):
            raise SpecificationError(what="within", expected="finite and > 0", got=f"{self.within:g}")


@dataclass(frozen=True)
class Prediction:
    """One mechanism's way to the target; users or epsilon are None where none reaches it, and the width is the best."""

    name: str
    users: int | None
    epsilon: float | None
    within: float | None
    within_90: float | None
    worst: float | None
    shape: str
    in_ranks: bool
    verb: str
    built: Mechanism  # at this epsilon, or at the largest one where none is enough
    refusal: MechanismError | None = None  # why there is no width
    recommended: bool = False
    reason: str = ""

    @property
    def reached(self) -> bool:
        return self.users is not None and self.epsilon is not None and self.within is not None

    @property
    def detects(self) -> float | None:
        """The least difference between two halves of the users that four of five tries find.

        A half has root 2 times the standard error, the difference of two halves root 2 times that.
        """
        if self.within is None or self.users is None:
            return None
        other = self.built.planned_detection(self.verb, self.users)
        return _VISIBLE * sqrt(2) * (sqrt(2) * self.within / Z95) if other is None else other


def plan(asked: Asked, target: Target) -> list[Prediction]:
    """A row for every mechanism that can answer, best first, one of them recommended."""
    if target.within is not None and target.within >= 1:
        _refuse_more_than_all(asked, target.within)
    rows: list[Prediction] = []
    refusals: list[MechanismError] = []
    for name in asked.names():
        try:
            rows.append(_row(asked, target, name))
        except MechanismError as error:  # bits on a huge domain, blocks that were not declared, ...
            if asked.named:
                raise
            refusals.append(error)
    if not rows:
        nobody = f"mechanism: none can answer {asked.question.verb} here; {asked.who_answers()}"
        raise refusals[0] if refusals else SpecificationError(nobody)
    rows.sort(key=partial(_rank, target))
    refused = [row.refusal for row in rows if row.refusal is not None]
    if len(refused) == len(rows):
        raise refused[0]
    return _recommended(asked, target, rows)


def _refuse_more_than_all(asked: Asked, within: float) -> None:
    """Half an interval of a share is below 1: whoever asks for more means another unit."""
    if asked.in_ranks:
        raise SpecificationError(
            what="within",
            expected="below 1: without a shape a quantile is planned in ranks, a share of the users; give shape or "
            "values to plan it in the domain's unit",
            got=f"{within:g}",
        )
    if asked.is_share:
        raise SpecificationError(what="within", expected="below 1, a share of the users: 1% is 0.01", got=f"{within:g}")


def _rank(target: Target, row: Prediction) -> tuple[bool, float, float]:
    within = inf if row.within is None else row.within
    solved = row.epsilon if target.epsilon is None else row.users if target.users is None else within
    return not row.reached, inf if solved is None else solved, within


def _row(asked: Asked, target: Target, name: str) -> Prediction:
    """Solved for one shape; where none is given, for the one that is worst at the solution."""
    users, epsilon = target.users or REFERENCE_USERS, target.epsilon or _REFERENCE_EPSILON
    by_shape = _by_shape(asked, name, users, epsilon)
    shape = by_shape.planned
    for _ in range(3):
        row = _solved(asked, target, name, shape)
        if target.within is None or not row.reached or by_shape.alike or _near(row, users, epsilon):
            break
        users, epsilon = row.users or users, row.epsilon or epsilon
        by_shape = _by_shape(asked, name, users, epsilon)
        if by_shape.planned == shape or by_shape.alike:
            break
        shape = by_shape.planned
    return replace(row, worst=_worst(asked, row, by_shape) if row.reached else None)


@dataclass(frozen=True)
class _ByShape:
    """Rough widths of every shape: enough to say which is the largest."""

    planned: str  # the shape that was given, or the one with the largest width
    largest: str | None  # None: the worst is unbounded, or there is none
    alike: bool  # the shape hardly matters


def _by_shape(asked: Asked, name: str, users: int, epsilon: float) -> _ByShape:
    """A width that is entirely the data's (a quantile's in the domain's units) has no worst."""
    widths = asked.widths(name, epsilon, asked.simulated, rough=True)
    given = VALUES if asked.values is not None else asked.shape
    if given is not None and widths.varies:
        return _ByShape(given, None, True)
    by_shape = {shape: widths.expected(shape, users) for shape in asked.shapes(widths.mechanism)}
    known = {shape: width for shape, width in by_shape.items() if isfinite(width)}
    largest = max(known, key=known.__getitem__) if known else next(iter(by_shape))
    unbounded = len(known) < len(by_shape) or widths.varies
    alike = len(known) == len(by_shape) and max(known.values()) <= _ALIKE * min(known.values())
    return _ByShape(given or largest, None if unbounded else largest, alike)


def _worst(asked: Asked, row: Prediction, by_shape: _ByShape) -> float | None:
    """The largest width over all shapes and the values given; None where one's is unbounded."""
    if by_shape.largest is None or row.users is None or row.epsilon is None:
        return None
    if by_shape.largest == row.shape:
        return row.within
    worst = asked.widths(row.name, row.epsilon, asked.simulated).expected(by_shape.largest, row.users)
    return max(worst, row.within or 0.0)


def _solved(asked: Asked, target: Target, name: str, shape: str) -> Prediction:
    """First by rough widths, unless whole surveys must be drawn; from there by exact ones, mostly one or two."""

    def width(users: int, epsilon: float) -> Width:
        try:
            return asked.widths(name, epsilon).at(shape, users)
        except SpecificationError:
            if epsilon == target.epsilon:
                raise
            return Width(inf, inf)  # a mechanism that takes no such epsilon

    def middle(users: int, epsilon: float, rough: bool = False) -> float:
        widths = asked.widths(name, epsilon, rough=rough)
        return width(users, epsilon).within if widths.varies else widths.expected(shape, users)

    users, epsilon = target.users, target.epsilon
    if target.within is not None and users is None and epsilon is not None:
        users = users_for(partial(middle, epsilon=epsilon), target.within)
    elif target.within is not None and epsilon is None and users is not None:
        exact, rough = (_tolerant(partial(middle, users, rough=each)) for each in (False, True))
        widths = asked.widths(name, _REFERENCE_EPSILON, rough=True)
        # The error in ranks of a quantile at a point mass jumps: from below the least epsilon is met first.
        from_below = widths.varies or widths.in_ranks
        start = _REFERENCE_EPSILON if from_below else _start(rough, exact, target.within)
        epsilon = epsilon_for(exact, target.within, start)
    at = users or REFERENCE_USERS, epsilon or EPSILON_HIGH
    predicted = width(*at)
    built, widths = asked.build(name, at[1]), asked.widths(name, at[1])
    return Prediction(
        name, users, epsilon, _known(predicted.within), _known(predicted.within_90), None, shape,
        widths.in_ranks, asked.question.verb, built,
        widths.refusals[-1] if widths.refusals and not isfinite(predicted.within) else None,
    )  # fmt: skip


def _start(rough: Callable[[float], float], exact: Callable[[float], float], within: float) -> float:
    """About the epsilon whose exact width is `within`: the rough one, corrected by the ratio of the two there."""
    first = epsilon_for(rough, within) or EPSILON_HIGH
    ratio = exact(first) / rough(first)
    if not (isfinite(ratio) and ratio > 0) or abs(ratio - 1) <= CLOSE:
        return first
    return epsilon_for(rough, within / ratio, first) or EPSILON_HIGH


def _near(row: Prediction, users: int, epsilon: float) -> bool:
    """Whether the solution is so near to where shapes were compared that they need not be compared again."""
    of_epsilon, of_users = (row.epsilon or epsilon) / epsilon, (row.users or users) / users
    return max(of_epsilon, 1 / of_epsilon) <= _NEAR_EPSILON and max(of_users, 1 / of_users) <= _NEAR_USERS


def _tolerant(width: Callable[[float], float]) -> Callable[[float], float]:
    def tried(epsilon: float) -> float:
        try:
            return width(epsilon)
        except SpecificationError:
            return inf

    return tried


def _known(width: float) -> float | None:
    return width if isfinite(width) else None


def _recommended(asked: Asked, target: Target, rows: list[Prediction]) -> list[Prediction]:
    """The mechanism that `auto` takes for this kind of question, where it reaches the target; else the first row."""
    best = rows[0]
    if not best.reached:
        return rows
    name, reason = best.name, f"{best.name}: the best of those compared"
    query = asked.query_of(type(best.built).ESTIMATE)
    if not asked.named and query is not None and query.PREDICTED:
        chosen, why = choose(best.epsilon, asked.domain, query.PREDICTED, lambda one, size, _: asked.build(one, size))
        if any(row.name == chosen.ID and row.reached for row in rows):
            name, reason = chosen.ID, why
    return [replace(row, recommended=row.name == name, reason=reason if row.name == name else "") for row in rows]
