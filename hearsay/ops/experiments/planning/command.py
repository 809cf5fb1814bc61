"""`hearsay experiment planning`: predicted widths against those of simulated surveys."""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import click
import numpy as np

from hearsay.ops.experiments.output import Result, out_option, publish_all, seed_option
from hearsay.ops.experiments.planning.cases import cases, every_mechanism
from hearsay.ops.experiments.planning.comparing import compare
from hearsay.ops.experiments.planning.summary import by_mechanism

_COLUMNS = [
    "mechanism",
    "kind",
    "query",
    "planned from",
    "least",
    "largest",
    "narrower",
    "settings",
    "beyond",
    "off",
    "runs",
]
_PART = "mechanism-{}.json"


@click.command()
@out_option("planning")
@click.option("--runs", type=click.IntRange(10, 10_000), default=200, show_default=True,
              help="Simulated surveys of every setting.")  # fmt: skip
@click.option("--only", type=click.Choice(every_mechanism()), multiple=True, help="Only these mechanisms.")
@click.option("--every-kind", is_flag=True, help="On every kind of domain that a mechanism takes, not only the first.")
@click.option("--quick", is_flag=True, help="One number of users, one epsilon and one shape.")
@click.option("--resume", is_flag=True, help="Keep what --out already has of a mechanism, and run the others.")
@seed_option(24)
def command(
    out: Path, runs: int, only: tuple[str, ...], every_kind: bool, quick: bool, resume: bool, seed: int
) -> None:
    """Compare the planner's widths with those of simulated surveys.

    Covers every mechanism, each question that it answers, three shapes, 2,000 to 200,000 users, and epsilon 0.5 to 4.
    Exits with 1 if a prediction is off by more than 10% (20% or one cell if surveys are drawn), or if `within_90` does
    not hold in 85 to 95% of the surveys of such a question.

    The results of a mechanism are written to --out as soon as they are complete: --resume continues a run that was
    interrupted, and combines several runs with --only.
    """
    out.mkdir(parents=True, exist_ok=True)
    for mechanism in only or every_mechanism():
        part = out / _PART.format(mechanism)
        if not (resume and part.exists()):
            part.write_text(json.dumps(_measured(mechanism, runs, every_kind, quick, seed)), encoding="utf-8")
    names = every_mechanism() if resume else only or every_mechanism()
    parts = [out / _PART.format(mechanism) for mechanism in names]
    table = _table(json.loads(part.read_text(encoding="utf-8")) for part in parts if part.exists())
    publish_all([table, by_mechanism(table.rows)], out)


def compared(mechanisms: Sequence[str], runs: int, every_kind: bool, quick: bool, seed: int) -> Result:
    """One row for every mechanism, kind of domain and question."""
    return _table(_measured(mechanism, runs, every_kind, quick, seed) for mechanism in mechanisms)


def _table(parts: Iterator[dict[str, Any]]) -> Result:
    result = Result(
        "planning",
        "Predicted over simulated median half width",
        _COLUMNS,
        [],
        "least and largest over shapes, users and epsilons; narrower: percent of surveys not wider than within_90; "
        "beyond: settings in which the ratio is out of its bounds; off: those that the 95% interval of the simulated "
        "median does not explain; runs: surveys of a setting",
    )
    for part in parts:
        result.rows += part["rows"]
        result.checks += len(part["rows"])
        result.failures += [f"{result.name}: {failure}" for failure in part["failures"]]
    return result


def _measured(mechanism: str, runs: int, every_kind: bool, quick: bool, seed: int) -> dict[str, Any]:
    rows, failures, beyond = [], [], []
    for case in islice(cases(mechanism), None if every_kind else 1):
        for question, one in compare(case, runs, quick, seed).items():
            if not one.ratios:
                continue
            rows.append(
                [mechanism, case.domain.kind, question, "surveys" if one.varies else "state",
                 f"{min(one.ratios):.3f}", f"{max(one.ratios):.3f}", f"{100 * float(np.mean(one.at_most)):.0f}",
                 len(one.ratios), len(one.beyond), len(one.off), runs]
            )  # fmt: skip
            beyond += [f"{question}: {words}" for words in one.beyond]
            failures += [f"{mechanism}, {case.domain.kind}, {question}: {words}" for words in one.failures()]
    return {"rows": rows, "failures": failures, "beyond": beyond}
