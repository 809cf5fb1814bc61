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
    """How far false senders move answers, beside the bound of `hearsay survey show --attackers`.

    Liars send the reports, of many tried, that raise one answer most: the share of a rare cell, of half the domain, or
    the mean. The stated bound is for the counts that honest reports give on average; in the worst state liars also
    raise the counts that answers are divided by. Exits with 1 where an answer moves further than in that worst state.
    """
    publish_all([poisoning(users, round(users * liars), seed)], out)


def poisoning(users: int, liars: int, seed: int) -> Result:
    """One row for every mechanism and kind of answer."""
    result = Result(
        "poisoning",
        f"{liars:,} liars among {users:,} senders, {SIZE} cells, epsilon {EPSILON:g}",
        ["mechanism", "answer", "moved", "stated", "moved / stated", "in the worst state"],
        [],
        "stated: survey show --attackers; the worst state is one in which liars also raise the counts most",
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
    places = range(len(rows))
    axes.barh(places, [each.moved for each in rows], label="moved")
    wide = {"linestyle": "", "marker": "|", "markersize": 16}
    axes.plot([each.worst for each in rows], places, color="orange", markeredgewidth=6, **wide,
              label="bound in the worst state")  # fmt: skip
    axes.plot([each.stated for each in rows], places, color="black", markeredgewidth=1.5, **wide, label="stated bound")
    axes.set_xscale("log")
    axes.set_yticks(places, [f"{each.name}: {each.kind}" for each in rows])
    axes.invert_yaxis()
    axes.set_xlabel("how far the answer moved")
    figure.legend(loc="outside lower center", ncols=3)
