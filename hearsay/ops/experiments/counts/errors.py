"""Kulkarni's figures 6.9 to 6.17, each as a table and a picture.

n is the size of a group, p the probability of a one, a = exp(-epsilon), so that a near 1 is strong privacy. L0,d is the
share of released counts that are more than d off; L1,d and L2,d are the mean absolute and squared error, where errors
of up to d count as 0.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import numpy as np

from hearsay.mechanisms.counts.draw import release
from hearsay.mechanisms.exact.randomness import Random
from hearsay.ops.experiments.counts.contenders import SIZES, STRONG, WEAK, Contender, comparators, for_l0, for_objective
from hearsay.ops.experiments.counts.groups import (
    RMSE,
    STANDARD_ERRORS,
    Measure,
    Measured,
    binomial,
    binomial_groups,
    flight_bits,
    measure,
    power_beyond,
)
from hearsay.ops.experiments.counts.pictures import curves
from hearsay.ops.experiments.output import Result

DEVIATION = "standard deviation over runs"
Contenders = Callable[[int, float], list[Contender]]
# Exact L0, L0,1 and RMSE at n = 8, a = 0.91, p = 0.5, to four digits.
EXPECTED = {
    "gm": (0.9492, 0.8366, 3.6596),
    "em": (0.8640, 0.6175, 2.7738),
    "um": (0.8889, 0.6675, 2.9439),
    "wm": (0.8764, 0.6405, 2.8134),
}


def _runs(quick: bool) -> int:
    return 5 if quick else 30


def _by_share(
    name: str, title: str, one: Measure, contenders: Contenders, quick: bool, random: Random, seed: int
) -> Result:
    """A measure against the share of ones, a panel for every size and every a."""
    result = Result(
        name, title, ["a", "n", "p", "mechanism", one.name, "standard deviation", "exact", "standard errors off"], [],
        f"10,000 people in groups of n, {_runs(quick)} runs",
    )  # fmt: skip
    panels: dict[str, Any] = {f"a = {a}, n = {n}": defaultdict(list) for a, n in product((STRONG, WEAK), SIZES)}
    generator = np.random.default_rng(seed)
    for a, n in product((STRONG, WEAK), SIZES):
        for p in (0.1, 0.5, 0.6) if quick else (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
            groups = [binomial_groups(n, p, generator) for _ in range(_runs(quick))]
            for contender in contenders(n, a):
                (measured,) = measure(contender, [one], groups, binomial(n, p), random)
                _add_row(result, [a, n, p, contender.name], measured)
                panels[f"a = {a}, n = {n}"][contender.name].append((p, measured.value, measured.spread))

    def draw(figure: Any) -> None:
        curves(figure, panels, len(SIZES), "p", one.name)

    result.draw, result.bars = draw, DEVIATION
    return result


def _by_distance(
    name: str, title: str, power: int, shares: tuple[float, ...], contenders: Contenders, quick: bool, random: Random,
    seed: int,
) -> Result:  # fmt: skip
    """L0,d, L1,d or L2,d (`power`: 0, 1 or 2) against d, in groups of eight; `shares` are those of ones."""
    measures = [power_beyond(power, beyond) for beyond in range(8)]
    result = Result(
        name, title,
        ["a", "n", "p", "mechanism", "d", f"L{power},d", "standard deviation", "exact", "standard errors off"], [],
        f"10,000 people in groups of 8, {_runs(quick)} runs",
    )  # fmt: skip
    panels: dict[str, Any] = {f"p = {p}, a = {a}": defaultdict(list) for p, a in product(shares, (STRONG, WEAK))}
    generator = np.random.default_rng(seed)
    for p, a in product(shares, (STRONG, WEAK)):
        groups = [binomial_groups(8, p, generator) for _ in range(_runs(quick))]
        for contender in contenders(8, a):
            for beyond, measured in enumerate(measure(contender, measures, groups, binomial(8, p), random)):
                _add_row(result, [a, 8, p, contender.name, beyond], measured)
                panels[f"p = {p}, a = {a}"][contender.name].append((beyond, measured.value, measured.spread))

    def draw(figure: Any) -> None:
        curves(figure, panels, 2, "d", f"L{power},d")

    result.draw, result.bars = draw, DEVIATION
    return result


def _add_row(result: Result, about: list[Any], measured: Measured) -> None:
    """Add what was measured as a row, and check it against the exact value."""
    row = [round(part, 5) for part in (measured.value, measured.spread, measured.exact)]
    result.rows.append([*about, *row, round(measured.off, 2)])
    words = ", ".join(map(str, about))
    result.expect(measured.off < STANDARD_ERRORS, f"{words}: {measured.value:.4f} where {measured.exact:.4f} is exact")


def figure_9(quick: bool, random: Random) -> Result:
    """How often a count of real flights is released wrong."""
    repetitions = 5 if quick else 50
    result = Result(
        "figure-6-9", "Figure 6.9: share of counts released wrong (L0), groups of flights, a = 0.9",
        ["bit", "share of ones", "n", "mechanism", "L0", "standard deviation", "exact", "standard errors off"], [],
        f"336,776 flights from New York in the order of the table, {repetitions} repetitions; the data set Adult, "
        "which Kulkarni used, is in no Python package",
    )  # fmt: skip
    panels: dict[str, Any] = {}
    for name, bits in flight_bits().items():
        panel = panels[name] = defaultdict(list)
        for n in (4, 8, 12) if quick else range(2, 21, 2):
            counts = bits[: bits.size // n * n].reshape(-1, n).sum(axis=1, dtype=np.int64)
            for contender in (*for_l0(n, 0.9), *comparators(n, 0.9)):
                (measured,) = measure(contender, [power_beyond(0, 0)], [counts] * repetitions, None, random)
                _add_row(result, [name, round(float(bits.mean()), 3), n, contender.name], measured)
                panel[contender.name].append((n, measured.value, measured.spread))

    def draw(figure: Any) -> None:
        curves(figure, panels, 3, "n", "share released wrong")

    result.draw, result.bars = draw, DEVIATION
    return result


def figure_13(quick: bool, random: Random) -> Result:
    """Figure 6.13: how far off released counts are, and to which side."""
    result = Result(
        "figure-6-13", "Figure 6.13: share of the groups of 8 by the error of their count",
        ["p", "a", "mechanism", *(f"{error:+d}" for error in range(-8, 9))], [],
        f"10,000 people, {_runs(quick)} runs",
    )  # fmt: skip
    generator = np.random.default_rng(613)
    panels: dict[str, Any] = {f"p = {p}, a = {a}": {} for p, a in product((0.1, 0.7), (STRONG, WEAK))}
    for p, a in product((0.1, 0.7), (STRONG, WEAK)):
        counts = np.concatenate([binomial_groups(8, p, generator) for _ in range(_runs(quick))])
        error_of = np.arange(9)[:, None] - np.arange(9)  # of every released (row) and true count (column)
        for contender in for_l0(8, a)[:3]:  # gm, wm and em
            error = release(contender.whole, counts, random) - counts
            measured = np.bincount(error + 8, minlength=17) / counts.size
            exact = np.bincount((error_of + 8).ravel(), (contender.shares * binomial(8, p)).ravel(), 17)
            noise = np.sqrt(np.maximum(exact * (1 - exact), 1e-9) / counts.size)
            off = float((np.abs(measured - exact) / noise).max())
            result.rows.append([p, a, contender.name, *(round(float(share), 4) for share in measured)])
            result.expect(off < STANDARD_ERRORS, f"p = {p}, a = {a}, {contender.name}: {off:.1f} standard errors off")
            panels[f"p = {p}, a = {a}"][contender.name] = [
                (column - 8, float(share), float(noise[column])) for column, share in enumerate(measured)
            ]

    def draw(figure: Any) -> None:
        curves(figure, panels, 2, "released - true", "share of groups")

    result.draw, result.bars = draw, "one standard error"
    return result


def check_values(random: Random) -> Result:
    """Compare exact errors with EXPECTED, and measured errors with exact ones."""
    measures = [power_beyond(0, 0), power_beyond(0, 1), RMSE]
    result = Result(
        "check-values", "Errors on binomial counts, n = 8, a = 0.91, p = 0.5: exact, expected and measured",
        ["mechanism", "measure", "exact", "expected", "measured", "standard errors off"], [],
        "10,000 people, 30 runs",
    )  # fmt: skip
    generator = np.random.default_rng(68)
    groups = [binomial_groups(8, 0.5, generator) for _ in range(30)]
    for contender in (*for_l0(8, STRONG), *comparators(8, STRONG)):
        wanted = EXPECTED.get(contender.name, (None, None, None))
        for one, measured, expected in zip(
            measures, measure(contender, measures, groups, binomial(8, 0.5), random), wanted, strict=True
        ):
            name = f"{contender.name}, {one.name}"
            result.rows.append([contender.name, one.name, round(measured.exact, 4), expected, round(measured.value, 4),
                                round(measured.off, 2)])  # fmt: skip
            close = expected is None or abs(measured.exact - expected) < 5.1e-5
            result.expect(close, f"{name}: {measured.exact:.5f} where {expected} is expected")
            result.expect(measured.off < STANDARD_ERRORS, f"{name}: measured {measured.value:.4f}")
    return result


def binomial_figures(quick: bool, random: Random) -> Iterable[Result]:
    """Figures 6.10 to 6.12 and 6.14 to 6.17."""
    shares = (0.5, 0.1)
    yield _by_share(
        "figure-6-10", "Figure 6.10: L0,1 on binomial counts", power_beyond(0, 1), for_l0, quick, random, 610
    )
    yield _by_distance("figure-6-11", "Figure 6.11: L0,d on binomial counts", 0, shares, for_l0, quick, random, 611)
    yield _by_share("figure-6-12", "Figure 6.12: RMSE on binomial counts", RMSE, for_l0, quick, random, 612)
    yield figure_13(quick, random)
    for number, power in ((14, 1), (15, 2)):
        title = f"Figure 6.{number}: RMSE of mechanisms for L{power} on binomial counts"
        yield _by_share(f"figure-6-{number}", title, RMSE, _for(power), quick, random, 600 + number)
    for number, power in ((16, 1), (17, 2)):
        title = f"Figure 6.{number}: L{power},d of mechanisms for L{power} on binomial counts"
        yield _by_distance(f"figure-6-{number}", title, power, (0.1, 0.6), _for(power), quick, random, 600 + number)


def _for(power: int) -> Contenders:
    """The mechanisms with the least L1 or L2 (`power`: 1 or 2)."""
    return lambda largest, ratio: for_objective(f"L{power}", largest, ratio)
