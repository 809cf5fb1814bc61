"""Frames in and out with the libraries themselves, where they are installed."""

from typing import Any

import pytest

import hearsay

FRUIT = {"kind": "categorical", "categories": ["apple", "pear"]}
SURVEY = {"name": "fruit", "mechanism": "grr", "epsilon": 3.0, "domain": FRUIT}
LINE = {"name": "line", "mechanism": "haar", "epsilon": 3.0, "domain": {"kind": "ordinal", "size": 16}}
GRID = {"name": "places", "mechanism": "haar", "epsilon": 3.0, "domain": {"kind": "grid", "sizes": [4, 4]}}
TABLE = {
    "name": "table",
    "mechanism": "inp-ht",
    "epsilon": 3.0,
    "domain": {"kind": "attributes", "names": ["a", "b"], "order": 2},
}
PEOPLE = ["apple"] * 600 + ["pear"] * 400
ASKED: list[tuple[dict[str, Any], Any, tuple[str, ...]]] = [
    (SURVEY, PEOPLE, ("frequencies", "point pear", "top 1")),
    (LINE, [*range(16)] * 100, ("histogram 4", "cdf 4", "quantile 0.5 0.9", "range 3 9", "frequencies")),
    (GRID, {"axis1": [1, 2] * 200, "axis2": [3, 0] * 200}, ("histogram 2 2", "range 0:1 2:3")),
    (TABLE, {"a": [0, 1] * 200, "b": [1, 1] * 200}, ("marginal a b", "conditional a given b", "correlations")),
]


@pytest.mark.parametrize(("survey", "people", "questions"), ASKED, ids=["labels", "line", "grid", "attributes"])
def test_every_answer_becomes_a_frame_of_polars_and_arrow(
    survey: dict[str, Any], people: Any, questions: tuple[str, ...]
) -> None:
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    simulated = hearsay.simulate(survey, people, seed=1)
    for question in questions:
        answers = simulated.ask(question)
        frame, table = answers.to_polars(), answers.to_arrow()
        assert isinstance(frame, polars.DataFrame)
        assert isinstance(table, pyarrow.Table)
        assert frame.columns == table.column_names == list(answers.columns())
        assert frame["value"].to_list() == table["value"].to_pylist() == [each.value for each in answers]
        assert frame["low"].to_list() == table["low"].to_pylist() == [each.low for each in answers]
        compared = simulated.compare(question)
        assert len(compared.to_polars()) == compared.to_arrow().num_rows == len(answers)


def test_plans_become_frames() -> None:
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    plan = hearsay.plan(FRUIT, "point pear", users=100, within=1e-6, mechanisms=["grr", "hrr"])
    assert isinstance(plan.to_polars(), polars.DataFrame)
    assert isinstance(plan.to_arrow(), pyarrow.Table)
    assert plan.to_arrow()["mechanism"].to_pylist() == [row.mechanism for row in plan]


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_and_columns_are_taken(library: str) -> None:
    module = pytest.importorskip(library)
    make = module.DataFrame if library == "polars" else module.table
    own = hearsay.simulate(SURVEY, PEOPLE, seed=1).ask("point pear")
    frame = make({"other": list(range(1_000)), "value": PEOPLE})
    assert hearsay.simulate(SURVEY, frame, seed=1).ask("point pear") == own
    assert hearsay.simulate(SURVEY, frame["value"], seed=1).ask("point pear") == own
    two = make({"axis2": [1, 2, 3] * 100, "axis1": [0] * 300})
    assert hearsay.simulate(GRID, two, seed=2).truth("point 0 1") == [pytest.approx(1 / 3)]
    with pytest.raises(hearsay.HearsayError, match="row 7 of column 'value' is empty"):
        hearsay.simulate(SURVEY, make({"value": [*PEOPLE[:7], None]}))
    with pytest.raises(hearsay.HearsayError, match="no column 'value'; it has other"):
        hearsay.simulate(SURVEY, make({"other": PEOPLE}))
