"""Pictures of answers about pairs of attributes: a tree as text or figure, correlations as a heat map."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from hearsay.estimator.answer_table import draw
from hearsay.mechanisms.queries.answer import Answer
from hearsay.ops.errors import OperationError
from hearsay.ops.terminal.heat_map import LEGEND, Cell, colour_bars, paint

Branch = tuple[str, Answer]  # the attribute at the other end of an edge, and the answer about the edge


class PictureFile(click.Path):
    """A file in a directory that exists; without an extension it is a png."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(str(value))
        super().convert(value, param, ctx)
        if not path.parent.is_dir():
            self.fail(f"{path.parent} is no directory; make it first", param, ctx)
        return path if path.suffix or not path.name else path.with_suffix(".png")


def drawable() -> tuple[str, ...]:
    """The queries that have a picture."""
    return tuple(_DRAWN)


def save_answers(answers: Sequence[Answer], truth: Sequence[float | None] | None, path: Path) -> None:
    """Draw answers of any query, one chart for each, into a file; `truth` beside them."""
    verbs = list(dict.fromkeys(each.query.split()[0] for each in answers))

    def paint(figure: Any) -> None:
        for number, verb in enumerate(verbs, start=1):
            chosen = [index for index, each in enumerate(answers) if each.query.split()[0] == verb]
            true = None if truth is None else [truth[index] for index in chosen]
            draw(figure.add_subplot(len(verbs), 1, number), [answers[index] for index in chosen], true)

    _save(paint, path)


def save_picture(verb: str, answers: Sequence[Answer], path: Path) -> None:
    """Draw the answers of a query into a file; its extension is the format (png, svg, pdf)."""
    _save(lambda figure: _DRAWN[verb](figure, answers), path)


def _save(paint: Callable[[Any], None], path: Path) -> None:
    try:
        import matplotlib as mpl
    except ImportError:
        raise OperationError("pictures need matplotlib: pip install 'hearsay-ldp[experiments]'") from None
    mpl.use("Agg")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(8, 6), layout="constrained")
    paint(figure)
    try:
        figure.savefig(path, dpi=150, bbox_inches="tight")  # names beside a map may be long
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or error
        raise OperationError(f"--picture: {path} cannot be written: {why}") from None
    finally:
        pyplot.close(figure)


def tree_lines(answers: Sequence[Answer]) -> list[str]:
    """A tree as text. Answers come strongest edge first, so the root is an end of the strongest edge."""
    branches = _branches(answers)
    root = _root(answers)
    return [root, *_below(root, "", branches, {root})]


def _pair(answer: Answer) -> tuple[str, str]:
    assert answer.cell is not None
    return str(answer.cell["first"]), str(answer.cell["second"])


def _root(answers: Sequence[Answer]) -> str:
    return _pair(answers[0])[0]


def _branches(answers: Sequence[Answer]) -> dict[str, list[Branch]]:
    branches: dict[str, list[Branch]] = {}
    for answer in answers:
        one, other = _pair(answer)
        branches.setdefault(one, []).append((other, answer))
        branches.setdefault(other, []).append((one, answer))
    return branches


def _below(parent: str, indent: str, branches: dict[str, list[Branch]], seen: set[str]) -> Iterator[str]:
    left = [(name, answer) for name, answer in branches[parent] if name not in seen]
    seen.update(name for name, _ in left)
    for number, (name, answer) in enumerate(left):
        last = number == len(left) - 1
        yield f"{indent}{'└─' if last else '├─'} {name}  {_weight(answer)}"
        yield from _below(name, indent + ("   " if last else "│  "), branches, seen)


def _weight(answer: Answer) -> str:
    shown = "-" if answer.value is None else f"{answer.value:.3g}"
    return shown if answer.low is None or answer.high is None else f"{shown} ({answer.low:.3g}..{answer.high:.3g})"


def _draw_tree(figure: Any, answers: Sequence[Answer]) -> None:
    """Layer by layer under the root; the stronger an edge, the thicker."""
    branches, root = _branches(answers), _root(answers)
    positions: dict[str, tuple[float, float]] = {}
    leaves = 0

    def put(name: str, depth: int, seen: set[str]) -> float:
        nonlocal leaves
        below = [other for other, _ in branches[name] if other not in seen]
        seen |= set(below)
        if below:
            across = [put(other, depth + 1, seen) for other in below]
            x = sum(across) / len(across)
        else:
            x, leaves = float(leaves), leaves + 1
        positions[name] = (x, -float(depth))
        return x

    put(root, 0, {root})
    most = max((answer.value or 0.0) for answer in answers) or 1.0
    axis = figure.subplots()
    for answer in answers:
        (x1, y1), (x2, y2) = (positions[name] for name in _pair(answer))
        axis.plot([x1, x2], [y1, y2], color="tab:blue", linewidth=1 + 6 * (answer.value or 0.0) / most, zorder=1)
        box = {"boxstyle": "round", "fc": "white", "ec": "none", "alpha": 0.8}
        axis.text((x1 + x2) / 2, (y1 + y2) / 2, _weight(answer), ha="center", va="center", fontsize=8, bbox=box)
    for name, (x, y) in positions.items():
        box = {"boxstyle": "round,pad=0.5", "fc": "lightyellow", "ec": "black"}
        axis.text(x, y, name, ha="center", va="center", fontsize=11, bbox=box, zorder=3)
    axis.margins(0.15)
    axis.set_axis_off()
    axis.set_title("Chow-Liu tree: mutual information in nats (95% interval)")


def _draw_correlations(figure: Any, answers: Sequence[Answer]) -> None:
    """A heat map of all pairs."""
    names = list(dict.fromkeys(name for answer in answers for name in _pair(answer)))
    cells = []
    for answer in answers:
        one, other = _pair(answer)
        cells.append(Cell.of(answer, (names.index(one), names.index(other))))
    axis = figure.subplots()
    colour_bars(figure, axis, cells, paint(axis, names, cells))
    axis.set_title(f"Correlations ({LEGEND})", fontsize=10)


_DRAWN: dict[str, Callable[[Any, Sequence[Answer]], None]] = {
    "tree": _draw_tree,
    "correlations": _draw_correlations,
}
