"""What `GET /api/plan` answers: rows, words, curves, one simulated survey, and a survey file to copy."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hearsay.collector.describe.plan_file import survey_text
from hearsay.collector.describe.planned import Plan, described, domain_from
from hearsay.collector.describe.written import half_width, without_separators
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.planning.asked import Asked
from hearsay.mechanisms.planning.curves import curve, sketch
from hearsay.mechanisms.planning.drawn_states import play
from hearsay.mechanisms.planning.plan import Target
from hearsay.mechanisms.queries.view import View
from hearsay.mechanisms.questions import check_reports, query_for

PARAMETERS = (
    *("kind", "size", "low", "high", "bins", "order", "domain", "query", "users", "epsilon", "within"),
    *("shape", "mechanism", "curve", "sketch"),
)
_DOMAIN_NUMBERS = ("low", "high", "bins", "order")  # parameters that are keys of the domain's table
CURVE_SECONDS = 10.0  # for one curve: it has the points that were computed by then
_SKETCHES = 3  # rows whose curves the page draws
_EXAMPLE_USERS, _EXAMPLE_ANSWERS = 200_000, 1_024
_EXAMPLE_SEED = 7


def question_of(parameters: Mapping[str, Sequence[str]]) -> tuple[Asked, Target]:
    """What the parameters of an address ask, each a list of texts; nothing is planned yet."""
    unknown = [name for name in parameters if name not in PARAMETERS]
    if unknown:
        raise SpecificationError(what="parameter", expected=f"one of {', '.join(PARAMETERS)}", got=repr(unknown[0]))
    asked = Asked.of(_domain(parameters), _one(parameters, "query") or "", parameters.get("mechanism", ()),
                     shape=_one(parameters, "shape"))  # fmt: skip
    within = _one(parameters, "within")
    return asked, Target(
        _number(parameters, "users", int),
        _number(parameters, "epsilon"),
        None if within is None else half_width(within, asked.is_share or asked.in_ranks),
    )


def document(parameters: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The answer to the parameters of an address."""
    asked, target = question_of(parameters)
    plan = described(asked, target)
    best = plan.recommended or plan[0]
    users = best.users or target.users or 10_000  # of the curves and the example, also where no row has a number
    curves = {name: curve(asked, name, users, _shape_of(plan, name, best.shape), CURVE_SECONDS)
              for name in parameters.get("curve", ())}  # fmt: skip
    if _one(parameters, "sketch") == "1":
        curves = _sketches(asked, plan, users) | curves
    return {
        "query": plan.query,
        "rows": [row.table() for row in plan],
        "words": list(plan.words),
        "left_out": dict(plan.left_out),
        "users": users,
        "curves": {name: [list(point) for point in points] for name, points in curves.items()},
        "example": _example(asked, best.mechanism, best.epsilon, users, best.shape),
        "survey": survey_text(asked.domain, best, plan.query) if plan.recommended else None,
    }


def _sketches(asked: Asked, plan: Plan, users: int) -> dict[str, list[tuple[float, float]]]:
    """Rough curves of the first rows; each passes through the epsilon and half width of its row."""
    return {
        row.mechanism: sketch(asked, row.mechanism, users, row.shape, (row.epsilon, row.within))
        for row in plan[:_SKETCHES]
        if row.epsilon is not None and row.within is not None and row.users == users
    }


def _domain(parameters: Mapping[str, Sequence[str]]) -> Any:
    keys: dict[str, Any] = {name: value for name in _DOMAIN_NUMBERS if (value := _number(parameters, name)) is not None}
    for name in ("bins", "order"):
        if name in keys:
            if not keys[name].is_integer():  # neither is nan or inf
                raise SpecificationError(what=name, expected="a whole number", got=f"{keys[name]:g}")
            keys[name] = int(keys[name])
    text = _one(parameters, "domain")
    if text is not None:
        try:
            table = json.loads(text)
        except (ValueError, RecursionError):
            raise SpecificationError(what="domain", expected="a table written as JSON") from None
        if not isinstance(table, dict):
            raise SpecificationError(what="domain", expected="a table written as JSON")
        return domain_from(str(table.pop("kind", "")), "", table)
    return domain_from(_one(parameters, "kind") or "", ",".join(parameters.get("size", ())), keys)


def _one(parameters: Mapping[str, Sequence[str]], name: str) -> str | None:
    """The value of a parameter that may be given once; None where it is absent or empty."""
    values = parameters.get(name, ())
    if len(values) > 1:
        raise SpecificationError(what=name, expected="given once", got=f"{len(values)} times")
    return values[0] if values and values[0] else None


def _number(parameters: Mapping[str, Sequence[str]], name: str, kind: type = float) -> Any:
    text = _one(parameters, name)
    if text is None:
        return None
    if kind is int:
        return _whole(text, name)
    try:
        return float(text)
    except ValueError:
        raise SpecificationError(what=name, expected="a number", got=repr(text[:40])) from None


def _whole(text: str, name: str) -> int:
    digits = without_separators(text)
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 15):
        raise SpecificationError(what=name, expected="a whole number", got=repr(text[:40]))
    return int(digits)


def _shape_of(rows: Iterable[Any], name: str, otherwise: str) -> str:
    """The shape that a mechanism's row was planned for; `otherwise` where it has no row."""
    return next((row.shape for row in rows if row.mechanism == name), otherwise)


def _example(asked: Asked, name: str, epsilon: float | None, users: int, shape: str) -> list[dict[str, Any]]:
    """One simulated survey beside the truth: what such an answer looks like."""
    if epsilon is None:
        return []
    people = asked.domain.simulated(shape, min(users, _EXAMPLE_USERS), np.random.default_rng(_EXAMPLE_SEED))
    mechanism, state = play(asked.build(name, epsilon), people, np.random.default_rng(_EXAMPLE_SEED))
    estimate, exact = mechanism.estimate(state), mechanism.exact(people)
    check_reports(estimate.reports, minimum_reports=0)
    query = query_for(asked.question, estimate).parse(asked.question.arguments, asked.domain)
    # `top` and `histogram` choose their cells by the estimate; the truth must be about the same cells.
    query, view = query.settled(estimate, estimate), View(asked.question.text)
    answers = query.answer(estimate, view)[:_EXAMPLE_ANSWERS]
    truth = query.answer(exact, view)[:_EXAMPLE_ANSWERS]
    return [{**one.table(), "truth": true.value} for one, true in zip(answers, truth, strict=True)]
