"""`hearsay bench peers`: every mechanism that other libraries share with us, in time and error, in one run.

Ours draws from the operating system's secure source. A library that would take longer than the budget runs on fewer
reports, and its time is scaled up; errors are compared on the very values that it took. Where a library cuts its shares
at zero and divides them by their sum, ours are treated alike before the errors are compared.
"""

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from time import perf_counter
from typing import Any

import click
import numpy as np

from hearsay.mechanisms import Mechanism, build
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.randomness import secure
from hearsay.mechanisms.oracles.unary import BitOracle
from hearsay.ops.bench.heavy_hitters import EPSILONS, TextComparison, compare_texts, print_texts
from hearsay.ops.bench.libraries import PACKAGES, SHARED, Cells, Run, Runner
from hearsay.ops.errors import CheckFailed, OperationError
from hearsay.ops.terminal.options import NumberRange, json_option
from hearsay.ops.terminal.present import notes, print_json, print_table

EPSILON = 1.1
TEXTS = "prefixes"
SIZES = (64, 1024, 16384)
_OUR_RUNS, _LONG_S = 4, 1.0
_FIRST = 500  # reports of a trial run that says how long a library will take
_SLOW_S = 0.05  # below this a comparison of times is meaningless
_TIMES, _BIT_TIMES, _OF_CEILING = 50, 5, 0.5
_COLUMNS = (
    "mechanism", "cells", "perturb s", "aggregate s", "library", "their s", "on reports", "times faster", "target",
    "of ceiling", "error", "their error", "holds",
)  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """One mechanism on one domain against one library; errors are mean squares over 4e/(n(e-1)^2)."""

    mechanism: str
    cells: int
    perturb_s: float
    aggregate_s: float
    library: str
    their_s: float
    their_reports: int
    error: float
    their_error: float
    # For bit vectors: the time of bare secure coins over our whole time.
    of_ceiling: float | None

    @property
    def times(self) -> float:
        return self.their_s / (self.perturb_s + self.aggregate_s)

    @cached_property
    def target(self) -> float:
        if self.their_s <= _SLOW_S:
            return 0.0
        return _BIT_TIMES if self.of_ceiling is not None else _TIMES

    @property
    def holds(self) -> bool:
        # A mean square over so many cells is only known to within a few of its standard deviations.
        slack = 1 + 4 * np.sqrt(2 / self.cells)
        quick = self.times >= self.target and (self.of_ceiling is None or self.of_ceiling >= _OF_CEILING)
        return bool(quick and self.error <= slack * self.their_error)

    def row(self) -> list[Any]:
        return [
            self.mechanism, self.cells, self.perturb_s, self.aggregate_s, self.library, self.their_s,
            self.their_reports, self.times, self.target, self.of_ceiling, self.error, self.their_error, self.holds,
        ]  # fmt: skip


def compare(name: str, size: int, reports: int, budget_s: float) -> list[Comparison]:
    """Our mechanism against every library that has it."""
    cells = _values(size, reports)
    mechanism = build({"mechanism": name, "epsilon": EPSILON, "domain": {"kind": "categorical", "size": size}})
    best = _run(mechanism, cells)
    again = _OUR_RUNS if best.perturb_s < _LONG_S else 0  # a long run is precise enough; do not repeat it
    for _ in range(again):
        best = min(best, _run(mechanism, cells), key=lambda run: run.perturb_s + run.aggregate_s)
    ceiling = None
    if isinstance(mechanism, BitOracle):
        coins_s = min(_coins_s(mechanism, reports) for _ in range(again + 1))
        ceiling = coins_s / (best.perturb_s + best.aggregate_s)
    result = []
    for library, runner in SHARED[name].items():
        taken, theirs = _within_budget(runner, cells, size, budget_s)
        truth = np.bincount(taken, minlength=size) / len(taken)
        mine = _run(mechanism, taken).shares
        if theirs.shares.min() >= 0 and abs(theirs.shares.sum() - 1) < 1e-6:
            mine = np.maximum(mine, 0.0) / np.maximum(mine, 0.0).sum()
        scale = reports / len(taken)
        result.append(
            Comparison(
                name, size, best.perturb_s, best.aggregate_s, library, scale * (theirs.perturb_s + theirs.aggregate_s),
                len(taken), _error(mine, truth, len(taken)), _error(theirs.shares, truth, len(taken)), ceiling,
            )
        )  # fmt: skip
    return result


def _values(size: int, reports: int) -> Cells:
    shares = 1 / np.arange(1, size + 1)
    return np.random.default_rng(size).choice(size, size=reports, p=shares / shares.sum())


def _run(mechanism: Mechanism, cells: Cells) -> Run:
    start = perf_counter()
    reports = mechanism.perturb(cells, secure())
    perturbed = perf_counter()
    shares = mechanism.estimate(mechanism.fold(mechanism.empty(), reports)).arrays()["estimate"]
    return Run(perturbed - start, perf_counter() - perturbed, shares)


def _coins_s(mechanism: BitOracle, reports: int) -> float:
    """How long bare coins take, one for each bit of so many reports, from the secure source."""
    _, q, _ = mechanism.hit_chances()
    start = perf_counter()
    secure().bits(int(q * 2**64), reports, mechanism.domain.size)
    return perf_counter() - start


def _within_budget(runner: Runner, cells: Cells, size: int, budget_s: float) -> tuple[Cells, Run]:
    """The run on all reports, or on as many as fit into the budget, by a trial on few."""
    trial = runner(cells[:_FIRST], size, EPSILON, perf_counter)
    expected = (trial.perturb_s + trial.aggregate_s) * len(cells) / _FIRST
    taken = cells if expected <= budget_s else cells[: max(_FIRST, int(len(cells) * budget_s / expected))]
    return taken, runner(taken, size, EPSILON, perf_counter)


def _error(shares: Floats, truth: Floats, reports: int) -> float:
    e = float(np.exp(EPSILON))
    return float(((shares - truth) ** 2).mean() * reports * (e - 1) ** 2 / (4 * e))


@click.command()
@click.option("--reports", type=click.IntRange(1_000, 10_000_000), default=200_000, show_default=True,
              help="Reports of each run.")  # fmt: skip
@click.option("--size", "sizes", type=click.IntRange(2, 1 << 20), multiple=True, default=SIZES, show_default=True,
              help="Cells of the domain; may be repeated.")  # fmt: skip
@click.option("--mechanism", "names", type=click.Choice([*SHARED, TEXTS]), multiple=True, help="Only these mechanisms.")
@click.option("--budget", "budget_s", type=NumberRange(0.1), default=20.0, show_default=True,
              help="Seconds a library may take; it gets fewer reports where it would take longer.")  # fmt: skip
@click.option("--check", is_flag=True, help="Exit with 1 where a target is missed.")
@json_option
def command(
    reports: int, sizes: tuple[int, ...], names: tuple[str, ...], budget_s: float, check: bool, as_json: bool
) -> None:
    """Compare every shared mechanism with pure-ldp and multi-freq-ldpy.

    They are needed for this only: pip install 'hearsay-ldp[peers]'. Times are of devices and server together.
    """
    _require()
    comparisons: list[Comparison] = []
    for size in sizes:
        for name in (name for name in names or SHARED if name != TEXTS):
            for each in compare(name, size, reports, budget_s):
                comparisons.append(each)
                notes().print(f"{name} on {size} cells: {each.times:.3g} times {each.library}", markup=False)
    of_texts = [compare_texts(reports, epsilon) for epsilon in EPSILONS if TEXTS in (names or (TEXTS,))]
    _print(comparisons, of_texts, reports, as_json)
    missed = [
        f"{each.mechanism} on {each.cells} cells against {each.library}" for each in comparisons if not each.holds
    ]
    missed += [f"{TEXTS} at epsilon {each.epsilon:g} against pure-ldp" for each in of_texts if not each.holds]
    if check and missed:
        raise CheckFailed(f"targets missed: {', '.join(missed)}")


def _require() -> None:
    for package, module in PACKAGES.items():
        try:
            import_module(module)
        except ImportError as error:
            raise OperationError(f"{package} cannot be imported ({error}): pip install 'hearsay-ldp[peers]'") from None


def _print(comparisons: list[Comparison], of_texts: list[TextComparison], reports: int, as_json: bool) -> None:
    if as_json:
        tables = [dict(zip(_COLUMNS, each.row(), strict=True)) for each in comparisons]
        print_json(tables + [{"mechanism": TEXTS, **each.table()} for each in of_texts])
        return
    if of_texts:
        print_texts(of_texts, reports)
    if not comparisons:
        return
    caption = (
        f"epsilon {EPSILON:g}, {reports:,} reports of Zipf values; errors are mean squares over 4e/(n(e-1)^2); "
        "of ceiling: bare secure coins over all that we do"
    )
    print_table("peers", _COLUMNS, [each.row() for each in comparisons], caption)
