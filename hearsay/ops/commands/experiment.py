"""`hearsay experiment`: the papers' tables and figures, one folder each in ops/experiments."""

import click

from hearsay.ops.terminal.lazy import LazyGroup

EXPERIMENTS = {
    "ranges": (
        "hearsay.ops.experiments.ranges.command",
        "Errors of range queries for every hierarchical method (Kulkarni 5).",
    ),
    "metric": (
        "hearsay.ops.experiments.metric.command",
        "Errors under metric privacy, for points, ranges and quantiles.",
    ),
    "key-value": ("hearsay.ops.experiments.key_value.command", "Frequencies and means of key-value pairs (PrivKV)."),
    "marginals": ("hearsay.ops.experiments.marginals.command", "Errors of every method for marginals (Kulkarni 4)."),
    "context-aware": (
        "hearsay.ops.experiments.context_aware.command",
        "Errors of block-structured privacy compared with plain LDP.",
    ),
    "planning": ("hearsay.ops.experiments.planning.command", "The planner's predictions against simulated surveys."),
    "calibration": (
        "hearsay.ops.experiments.calibration.command",
        "How often intervals contain the truth, in extreme cases.",
    ),
    "counts": ("hearsay.ops.experiments.counts.command", "Constrained mechanisms for small counts (Kulkarni 6)."),
    "longitudinal": (
        "hearsay.ops.experiments.longitudinal.command",
        "Errors, attacks and intervals if a device reports in many windows.",
    ),
    "poisoning": (
        "hearsay.ops.experiments.poisoning.command",
        "How far false senders move answers, compared with the stated bound.",
    ),
    "text": (
        "hearsay.ops.experiments.text.command",
        "Frequent texts without a given list: which are detected, and how exactly.",
    ),
}


@click.group(cls=LazyGroup, commands_by_module=EXPERIMENTS)
def command() -> None:
    """Reproduce the papers' tables and figures.

    Each experiment writes CSV files and figures, shows expected values beside its own, and exits with 1 where they
    disagree.
    """
