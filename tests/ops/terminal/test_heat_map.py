"""A heat map says which coefficient a cell is, and how sure it is."""

from typing import Any

import pytest

from hearsay.mechanisms.queries.answer import Answer
from hearsay.ops.terminal.heat_map import Cell, colour_bars, paint

pytest.importorskip("matplotlib")
NAMES = ["smokes", "sport", "age group"]
SURE = Cell((0, 1), "pearson", 0.7, 0.6, 0.8)
UNSURE = Cell((0, 2), "cramers-v", 0.1, 0.0, 0.3)


def drawn(cells: list[Cell], names: list[str] = NAMES) -> Any:
    from matplotlib.figure import Figure

    figure = Figure()
    axis = figure.subplots()
    colour_bars(figure, axis, cells, paint(axis, names, cells))
    return figure


def labels(figure: Any) -> list[str]:
    return [bar.get_ylabel() for bar in figure.axes[1:]]


def test_each_kind_of_coefficient_has_colours_and_a_bar_of_its_own() -> None:
    figure = drawn([SURE, UNSURE])
    assert labels(figure) == ["r: Pearson's coefficient", "V: Cramer's V (no sign)"]
    assert len({image.get_cmap().name for image in figure.axes[0].images}) == 3  # and the diagonal
    assert labels(drawn([SURE])) == ["r: Pearson's coefficient"]
    assert labels(drawn([UNSURE])) == ["V: Cramer's V (no sign)"]


def test_a_cell_is_pale_where_its_interval_contains_0() -> None:
    _, sure, unsure = drawn([SURE, UNSURE]).axes[0].images
    assert sure.get_alpha()[0][1] == sure.get_alpha()[1][0] == 1.0
    assert unsure.get_alpha()[0][2] == unsure.get_alpha()[2][0] < 0.5


def test_half_the_width_of_the_interval_stands_in_both_cells_of_a_pair() -> None:
    words = [text.get_text() for text in drawn([SURE, UNSURE]).axes[0].texts]
    assert words == ["r 0.70\n+-0.10"] * 2 + ["V 0.10\n+-0.15"] * 2  # with a letter, since there are both kinds
    assert [text.get_text() for text in drawn([SURE]).axes[0].texts] == ["0.70\n+-0.10"] * 2


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (Cell((0, 1), "pearson", None), "?"),
        (Cell((0, 1), "pearson", float("nan"), float("nan"), float("nan")), "?"),
        (Cell((0, 1), "pearson", -0.3), "-0.30"),
        (Cell((0, 1), "cramers-v", 0.25, None, None), "0.25"),
    ],
)
def test_what_is_unknown_or_exact(cell: Cell, words: str) -> None:
    assert cell.words == words
    assert not cell.unsure
    drawn([cell])


def test_many_attributes_have_colours_without_numbers() -> None:
    assert not drawn([SURE], [f"a{number}" for number in range(40)]).axes[0].texts


def test_an_answer_becomes_a_cell() -> None:
    answer = Answer("correlations", 0.2, 0.05, interval=(0.0, 0.3), coefficient="cramers-v")
    assert Cell.of(answer, (1, 2)) == Cell((1, 2), "cramers-v", 0.2, 0.0, 0.3)
