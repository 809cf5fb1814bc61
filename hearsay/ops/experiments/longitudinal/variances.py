"""The error of a rare value in one of 30 windows, for devices that may spend a given epsilon over all of them.

afresh    n devices report in every window with epsilon L/30 (hrr): n Var = 1/tanh(L/60)^2.
sampled   each reports in one window of 30 with all of L (olh): n Var = 30 q(1-q)/(p-q)^2, q = 1/2^t.
memoised  all report in every window; a life of g buckets spends g epsilon, so epsilon is L/g (hrr, g = 2; olh, g = 4).
"""

from math import exp, sqrt
from typing import Any

import numpy as np

from hearsay.mechanisms import build
from hearsay.mechanisms.exact.randomness import Random, SeededRandom, seeded
from hearsay.mechanisms.oracles.linear_hashing import LinearHashing
from hearsay.ops.experiments.lines import line_style
from hearsay.ops.experiments.longitudinal.lives import Lives
from hearsay.ops.experiments.output import Result

LIFETIMES = (1.0, 2.0, 4.0, 8.0)
WINDOWS = 30
CELLS, FREQUENT = 1 << 14, 1 << 13  # devices have the first ones, uniformly; the others are rare values
DEVICES = 30_000
AFRESH, SAMPLED, BEST, MEMOISED = "afresh, hrr", "sampled, olh of 2^t <= 256", "sampled, olh", "memoised, t = 1 or 2"
# What the page states; `sampled, olh` has no such row, since it names several buckets where one costs too much.
STATED = {
    AFRESH: (3601.0, 901.0, 226.0, 57.0),
    SAMPLED: (111.0, 21.7, 2.29, 0.14),
    MEMOISED: (16.7, 4.68, 1.72, 0.88),
}
OFF = 0.05


def hashing(epsilon: float, size: int, t: int, **options: Any) -> LinearHashing:
    """hrr (t = 1) or olh."""
    name, more = ("hrr", {}) if t == 1 else ("olh", {"t": t})
    made = build(
        {
            **{"mechanism": name, "epsilon": epsilon, "domain": {"kind": "categorical", "size": size}},
            "options": {**more, **options},
        }
    )
    assert isinstance(made, LinearHashing)
    return made


def expected(epsilon: float, t: int) -> float:
    """n Var of a rare value in one window in which all n devices report."""
    g = 1 << t
    p, q = exp(epsilon) / (exp(epsilon) + g - 1), 1 / g
    return q * (1 - q) / (p - q) ** 2


def memoised_t(lifetime: float) -> int:
    """Bits of the hash with the least error: more of them tell more, and leave less epsilon for each bucket."""
    return min((1, 2), key=lambda t: expected(lifetime / (1 << t), t))


def variances(runs: int, seed: int) -> Result:
    """n Var of a rare value, measured beside the formula and what the page states."""
    result = Result(
        "variances",
        f"n Var of a rare value in one of {WINDOWS} windows, by the epsilon of all of them together",
        ["devices report", "lifetime epsilon", "measured", "formula", "stated"],
        [],
        f"{DEVICES:,} devices, {CELLS - FREQUENT:,} rare values, {runs} windows each; relative standard error of a "
        f"measured value: {sqrt(2 / (runs * (CELLS - FREQUENT))):.1%}",
    )
    curves: dict[str, list[tuple[float, float, float]]] = {}
    for row, how in enumerate((AFRESH, SAMPLED, BEST, MEMOISED)):
        for column, lifetime in enumerate(LIFETIMES):
            formula = _formula(how, lifetime)
            measured = _measure(how, lifetime, runs, seeded(seed + 100 * row + column))
            stated = STATED[how][column] if how in STATED else None
            curves.setdefault(how, []).append((lifetime, measured, formula))
            result.rows.append(
                [how, f"{lifetime:g}", _three(measured), _three(formula), "" if stated is None else f"{stated:,g}"]
            )
            allowed = OFF + 4 * sqrt(2 / (runs * (CELLS - FREQUENT)))
            result.expect(
                how == BEST or abs(measured / (stated or formula) - 1) <= allowed,
                f"{how} at {lifetime:g}: {measured:.3g}, stated {stated}",
            )
    result.draw = lambda figure: _draw(figure, curves)
    return result


def _three(number: float) -> str:
    """Three digits, without a power of ten."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _formula(how: str, lifetime: float) -> float:
    if how == AFRESH:
        return expected(lifetime / WINDOWS, 1)
    if how == SAMPLED:
        return WINDOWS * min(expected(lifetime, t) for t in range(1, 9))
    if how == BEST:
        return WINDOWS * 4 * exp(lifetime) / (exp(lifetime) - 1) ** 2  # oue's, which olh comes close to
    t = memoised_t(lifetime)
    return expected(lifetime / (1 << t), t)


def _measure(how: str, lifetime: float, runs: int, random: SeededRandom) -> float:
    """The mean over rare values and windows of n estimate^2."""
    mechanism = _mechanism(how, lifetime)
    total = 0.0
    for _ in range(runs):
        cells = random.below(FREQUENT, DEVICES).astype(np.int64)
        total += float((_estimated(mechanism, how, cells, random)[FREQUENT:] ** 2).mean())
    return DEVICES * total / runs


def _mechanism(how: str, lifetime: float) -> LinearHashing:
    if how == AFRESH:
        return hashing(lifetime / WINDOWS, CELLS, 1)
    if how == MEMOISED:
        t = memoised_t(lifetime)
        return hashing(lifetime / (1 << t), CELLS, t)
    if how == SAMPLED:
        t = min(range(1, 9), key=lambda each: expected(lifetime, each))
        return hashing(lifetime, CELLS, t, **({} if t == 1 else {"named": 1}))
    made = build({"mechanism": "olh", "epsilon": lifetime, "domain": {"kind": "categorical", "size": CELLS}})
    assert isinstance(made, LinearHashing)
    return made


def _estimated(mechanism: LinearHashing, how: str, cells: Any, random: Random) -> Any:
    if how == MEMOISED:
        reports = Lives.draw(mechanism, len(cells), random).reports(cells)
    elif how == AFRESH:
        reports = mechanism.perturb(cells, random)
    else:
        reports = mechanism.perturb(cells[random.below(WINDOWS, len(cells)) == 0], random)
    return mechanism.estimate(mechanism.fold(mechanism.empty(), reports)).estimate


def _draw(figure: Any, curves: dict[str, list[tuple[float, float, float]]]) -> None:
    axes = figure.subplots()
    for number, (how, points) in enumerate(curves.items()):
        lifetime, measured, formula = zip(*points, strict=True)
        style = line_style(number, len(curves))
        axes.loglog(lifetime, formula, label=how, **{**style, "marker": ""})
        axes.loglog(lifetime, measured, **{**style, "linestyle": ""})
    axes.set_xticks(LIFETIMES, [f"{lifetime:g}" for lifetime in LIFETIMES])
    axes.minorticks_off()
    axes.set_xlabel(f"epsilon of all {WINDOWS} windows together")
    axes.set_ylabel("n Var of a rare value in one window")
    axes.legend(title="lines: formula, markers: measured")
