"""`hearsay experiment poisoning`: false senders against the stated bound and the one of the worst state."""

from pathlib import Path
from typing import Any

import click

from hearsay.ops.experiments.output import Result, out_option, publish_all, seed_option
from hearsay.ops.experiments.poisoning.liars import EPSILON, SIZE, Shift, shifts
from hearsay.ops.terminal.options import NumberRange

USERS, SHARE = 20_000, 0.05


@click.command()
@out_option("poisoning")
@click.option("--users", type=click.IntRange(1_000, 10_000_000), default=USERS, show_default=True, help="Senders.")
@click.option("--liars", type=NumberRange(0.001, 0.5), default=SHARE, show_default=True,
              help="The share of senders that choose their report.")  # fmt: skip
@seed_option(21)
def command(out: Path, users: int, liars: float, seed: int) -> None:
    """How far false senders move answers, compared with the bound of `hearsay survey show --attackers`.

    Of many possible reports, false senders send those that raise one answer most: the share of a rare cell, of half the
    domain, or the mean. The stated bound is for the counts of honest reports on average; in the worst state false
    senders also raise the counts by which answers are divided. Exits with 1 if an answer moves further than in the
    worst state.
    """
    publish_all([poisoning(users, round(users * liars), seed)], out)


def poisoning(users: int, liars: int, seed: int) -> Result:
    """One row for every mechanism and kind of answer."""
    result = Result(
        "poisoning",
        f"How far {liars:,} false senders among {users:,} move answers, {SIZE} cells, epsilon {EPSILON:g}",
        ["mechanism", "answer", "moved", "stated", "moved / stated", "in the worst state"],
        [],
        "stated: the bound of survey show --attackers; in the worst state false senders also raise the counts most",
    )
    rows = list(shifts(users, liars, seed))
    for each in rows:
        result.rows.append(
            [each.name, each.kind, f"{each.moved:.4g}", f"{each.stated:.4g}", f"{each.moved / each.stated:.2f}",
             f"{each.worst:.4g}"]
        )  # fmt: skip
        result.expect(each.moved <= each.worst, f"{each.name}, {each.kind}: moved {each.moved:.4g} > {each.worst:.4g}")
        result.expect(each.moved > 0, f"{each.name}, {each.kind}: liars moved nothing")
    result.draw = lambda figure: _draw(figure, rows)
    return result


def _draw(figure: Any, rows: list[Shift]) -> None:
    axes = figure.subplots()
    positions = range(len(rows))
    axes.barh(positions, [each.moved for each in rows], label="moved")
    wide = {"linestyle": "", "marker": "|", "markersize": 16}
    axes.plot([each.worst for each in rows], positions, color="orange", markeredgewidth=6, **wide,
              label="bound in the worst state")  # fmt: skip
    axes.plot(
        [each.stated for each in rows], positions, color="black", markeredgewidth=1.5, **wide, label="stated bound"
    )
    axes.set_xscale("log")
    axes.set_yticks(positions, [f"{each.name}: {each.kind}" for each in rows])
    axes.invert_yaxis()
    axes.set_xlabel("change of the answer (share of devices; for mean: units of -1..1)")
    figure.legend(loc="outside lower center", ncols=3)
