"""`hearsay release`: publishes a trusted group's count, or a file of group counts, with differential privacy."""

import tomllib
from collections.abc import Sequence
from typing import Any

import click
import numpy as np

from hearsay.mechanisms.base import EPSILON_LIMIT
from hearsay.mechanisms.counts.choice import choose
from hearsay.mechanisms.counts.design import DESIGNS, Design, Facts, facts
from hearsay.mechanisms.counts.domain import LARGEST, Count
from hearsay.mechanisms.counts.draw import release
from hearsay.mechanisms.counts.heat_map import heat_map
from hearsay.mechanisms.counts.integers import to_shares
from hearsay.mechanisms.counts.program import TIME_LIMIT_S
from hearsay.mechanisms.counts.settings import DESIGN, TIE
from hearsay.mechanisms.errors import SpecificationError, ValueOutsideDomain
from hearsay.mechanisms.exact.randomness import secure
from hearsay.mechanisms.options import Option, complete
from hearsay.ops.errors import OperationError
from hearsay.ops.terminal.options import NumberRange, json_option
from hearsay.ops.terminal.present import console, notes, print_json, print_table
from hearsay.ops.terminal.values_file import ValuesFile, values_option

AUTO, COLUMN = "auto", "count"
_OPTIONS: dict[str, tuple[Option, ...]] = {"em": (TIE,), "lp": DESIGN, AUTO: DESIGN}
_LISTS = {"properties", "weights", "workload"}


@click.command()
@click.argument("count", metavar="[COUNT]", required=False)
@values_option("Release every count of column `count` instead; each person is in one group only.")
@click.option("--max", "largest", metavar="N", type=click.IntRange(1, LARGEST), required=True,
              help="The largest count there can be: the size of a group.")  # fmt: skip
@click.option("--epsilon", type=NumberRange(0, EPSILON_LIMIT, min_open=True), required=True,
              help="One person makes no output more than e^epsilon times likelier.")  # fmt: skip
@click.option("--mechanism", type=click.Choice([AUTO, *DESIGNS]), default=AUTO, show_default=True,
              help="auto: the best under L0 that has the properties asked for.")  # fmt: skip
@click.option("--option", "given", metavar="K=V", multiple=True,
              help="The mechanism's own: properties=WH,CM, objective=L1, workload=mean,at-least:3, ...")  # fmt: skip
@click.option("--seconds", type=NumberRange(0, min_open=True), default=TIME_LIMIT_S, show_default=True,
              help="How long a linear program may take.")  # fmt: skip
@click.option("--show", is_flag=True, help="Show the matrix as a heat map.")
@json_option
def command(
    count: str | None,
    values_file: ValuesFile | None,
    largest: int,
    epsilon: float,
    mechanism: str,
    given: tuple[str, ...],
    seconds: float,
    show: bool,
    as_json: bool,
) -> None:
    """Release a count, or a file of group counts, under epsilon-differential privacy.

    The operator is trusted and knows the count; the output may be published. One person who joins, leaves or changes an
    answer changes one group's count by at most one. Every release draws new noise from the secure source and spends
    epsilon again: two releases of a count spend twice as much.
    """
    if (count is None) == (values_file is None):
        raise click.UsageError("give one COUNT, or --values FILE")
    counts = _counts(count, values_file, largest)
    design, reason = _design(mechanism, largest, epsilon, _options(mechanism, given))
    # With --json, properties of the matrix go to stderr.
    out = notes() if as_json else console()
    with notes().status("solving a linear program") as status:
        matrix = design.whole(seconds, lambda line: status.update(f"solving a linear program: {line}"))
    released = release(matrix, counts, secure()).tolist()
    if as_json:
        print_json([{COLUMN: each} for each in released])
    elif values_file is None:
        click.echo(f"released: {released[0]}")
    else:
        print_table("released", ("group", COLUMN), enumerate(released, start=1))
    for line in _about(design, reason, facts(design, matrix)):
        out.print(line, markup=False)
    if show:
        out.print("\n".join(heat_map(to_shares(matrix))), markup=False)


def _counts(count: str | None, values_file: ValuesFile | None, largest: int) -> np.ndarray[Any, Any]:
    domain = Count.up_to(largest, "--max", COLUMN)
    if values_file is not None:
        return np.asarray(values_file.read(domain))
    try:
        return np.asarray(domain.one(count))
    except ValueOutsideDomain as error:
        raise OperationError(str(error), **error.fields) from None


def _design(mechanism: str, largest: int, epsilon: float, options: dict[str, Any]) -> tuple[Design, str]:
    """The mechanism, which `auto` chooses by its options, and why it was chosen or its name."""
    design = Design(mechanism, largest, epsilon, options)
    design.check()
    if mechanism != AUTO:
        return design, mechanism
    standard_objective = options["objective"] == "L0" and not options["workload"] and options["weights"] is None
    neighbours = not options["local"] and options["within"] == 1
    choice = choose(frozenset(options["properties"]), largest, design.promise.ratio, standard_objective and neighbours)
    return Design(choice.mechanism, largest, epsilon, options if choice.mechanism == "lp" else {}), choice.reason


def _options(mechanism: str, given: Sequence[str]) -> dict[str, Any]:
    """The values of `--option` as the mechanism's options: each a TOML value, or words separated by commas."""
    options = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise SpecificationError(what="--option", expected="K=V", got=repr(text))
        options[name] = _value(name, value)
    return complete(_OPTIONS.get(mechanism, ()), options)


def _value(name: str, text: str) -> Any:
    """A TOML value; else a word, or for an option that is a list the words between its commas."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        pass
    if name not in _LISTS:
        return text  # a comma may be part of it, as in the name of an objective
    return [_value("", word) for word in text.split(",") if word]  # no list has the name "": words are not split again


def _about(design: Design, reason: str, known: Facts) -> list[str]:
    """The mechanism, its properties and its errors, as lines of text."""
    promise = (
        "any two counts"
        if design.promise.local
        else "two neighbouring counts"
        if design.promise.within == 1
        else f"two counts up to {design.promise.within} apart"
    )
    scores = ", ".join(f"{name} {score:.4g}" for name, score in known.scores.items())
    return [
        f"mechanism {reason}",
        f"guarantee: no release is more than e^{design.epsilon:g} times likelier under one of {promise} than under the "
        "other, exactly",
        f"properties: {' '.join(known.properties) or 'none'}; "
        f"{'could be' if known.derivable_from_gm else 'cannot be'} derived from gm",
        f"error, all counts being equally likely: wrong {known.wrong:.1%}, mean absolute error "
        f"{known.mean_absolute_error:.3g}, root mean square error {known.root_mean_square_error:.3g}; {scores}",
        *(f"warning: {line}" for line in known.warnings),
    ]
