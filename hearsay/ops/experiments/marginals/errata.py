"""What Kulkarni's chapter 4 states, and what holds: each with a number that decides."""

from collections.abc import Iterator
from math import comb, exp, log, sqrt

import numpy as np

from hearsay.ops.experiments.marginals.runs import INP_HT, INP_RR, MARG_HT, Settings, build
from hearsay.ops.experiments.output import Result

EPSILON = log(3)


def errata(settings: Settings) -> Iterator[Result]:
    """One row an error, with the two candidates' values and the exact one."""
    result = Result(
        "errata",
        "Where the dissertation's chapter 4 errs",
        ["where", "as printed", "what holds", "printed value", "corrected value", "exact value"],
        [],
        "exact: by enumeration, or from the exact variance; the rest of the list is in docs/explanation/marginals.md",
    )
    rows = (_sampling_variance, _unary_variance, _whole_table_growth, _characters_growth, _marg_ht_growth, _equations)
    for row in rows:
        where, printed, holds, wrong, right, exact = row()
        result.rows.append([where, printed, holds, round(wrong, 4), round(right, 4), round(exact, 4)])
        closer = abs(right - exact) < abs(wrong - exact)
        result.expect(closer, f"{where}: {right:.4f} corrected, {wrong:.4f} printed, {exact:.4f} exact")
    yield result


Row = tuple[str, str, str, float, float, float]


def _sampling_variance() -> Row:
    """(4.4): the variance of a sampled and perturbed sign, at ps = 0.1 and pr = 0.75."""
    ps, pr = 0.1, 0.75
    x = 1 / (2 * pr - 1) / ps
    values, chances = np.array([x, -x, 0.0]), np.array([ps * pr, ps * (1 - pr), 1 - ps])
    exact = float(chances @ values**2 - (chances @ values) ** 2)
    noise = 4 * pr * (1 - pr) / (ps * (2 * pr - 1) ** 2)
    return "(4.4)", "... + (1 - ps)", "... + (1 - ps)/ps", noise + (1 - ps), noise + (1 - ps) / ps, exact


def _unary_variance() -> Row:
    """Theorem 3's last step: 4 exp(-eps/2)/(exp(eps/2) - 1)^2."""
    a = exp(EPSILON / 2)
    p = a / (1 + a)
    return (
        "theorem 3",
        "4 exp(-eps/2)/(exp(eps/2)-1)^2",
        "4 exp(+eps/2)/(exp(eps/2)-1)^2",
        4 / a / (a - 1) ** 2,
        4 * a / (a - 1) ** 2,
        4 * p * (1 - p) / (2 * p - 1) ** 2,
    )


def _growth(method: object, sizes: tuple[int, int], order: int) -> float:
    """By how much the error of a marginal grows from one number of attributes to another."""
    one, other = (build(method, d, order, EPSILON).predicted_stderr(1)["marginal"] for d in sizes)  # type: ignore[arg-type]
    return other / one


def _whole_table_growth() -> Row:
    growth = _growth(INP_RR, (8, 10), 2)
    return "table 4.1, INPRR, d = 8 to 10", "2^d", "2^(d/2) (theorem 3)", 4.0, 2.0, growth


def _characters_growth() -> Row:
    growth = _growth(INP_HT, (16, 32), 2)
    return "table 4.1, INPHT, d = 16 to 32", "d^k", "d^(k/2) (theorem 5)", 4.0, 2.0, growth


def _marg_ht_growth() -> Row:
    """Lemma 7: MARGHT's total error at k = 2 and 3, d = 16, without the number of sets: 2^(3k/2) or 2^k."""
    totals = []
    for order in (2, 3):
        stderr = build(MARG_HT, 16, order, EPSILON).predicted_stderr(1)["marginal"]
        totals.append(2**order * stderr / sqrt(comb(16, order)))
    return "lemma 7, MARGHT, k = 2 to 3", "2^(3k/2)", "2^k", 2**1.5, 2.0, totals[1] / totals[0]


def _equations() -> Row:
    """(4.2), (4.3): with x for a kept sign, pr x + (1 - pr) y must be the true +1."""
    pr = 0.75
    x = 1 / (2 * pr - 1)
    return "(4.2), (4.3)", "pr x + (1-pr) y = -1", "= 1 (the right sides are swapped)", -1.0, 1.0, pr * x - (1 - pr) * x
