"""What notebooks see: short reprs, tables, frames in and out, with and without the libraries."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import hearsay
from hearsay.collector.showing import MissingLibrary
from hearsay.estimator.answer_table import Answers
from hearsay.estimator.serving.answers import as_csv
from hearsay.mechanisms.errors import ValueOutsideDomain
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.queries.answer import Answer, tables
from hearsay.ops.simulate import simulation
from hearsay.producer import values

FRUIT = {"kind": "categorical", "categories": ["apple", "pear"]}
SURVEY = {"name": "fruit", "mechanism": "grr", "epsilon": 3.0, "domain": FRUIT}
GRID = {"name": "places", "mechanism": "haar", "epsilon": 3.0, "domain": {"kind": "grid", "sizes": [4, 4]}}
PEOPLE = ["apple"] * 600 + ["pear"] * 400


class Column:
    """A column as polars has it."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    def to_list(self) -> list[Any]:
        return self._values


class Frame:
    """A frame as far as it is used: column names, and columns by name."""

    def __init__(self, **columns: list[Any]) -> None:
        self._columns = columns

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    def __getitem__(self, name: str) -> Column:
        return Column(self._columns[name])


@pytest.fixture
def fruit() -> Any:
    return hearsay.simulate(SURVEY, PEOPLE, seed=1)


def test_answers_are_a_list_and_a_table(fruit: Any) -> None:
    answers = fruit.ask("frequencies")
    assert isinstance(answers, list)
    assert answers == list(answers)
    assert repr(answers).splitlines()[0].split() == ["query", "item", "value", "stderr", "low", "high"]
    html = answers._repr_html_()
    assert "<th>low</th>" in html
    assert html.count("<tr>") == 3
    assert isinstance(answers[:1], Answers)


def test_nothing_is_lost_in_columns() -> None:
    answers = Answers(
        [Answer("histogram 2", 0.5, 0.1, item=[0.0, 1.0]), Answer("x", 0.5, 0.1, cell={"a": "b", "c": 1})]
    )
    columns = answers.columns()
    assert set(columns) == {"query", "item_from", "item_to", "a", "c", "value", "stderr", "low", "high"}
    assert columns["item_to"] == [1.0, None]
    assert columns["a"] == [None, "b"]
    assert columns["low"][0] == pytest.approx(0.304)


def test_a_table_over_http_has_the_columns_of_a_frame() -> None:
    answers = Answers(
        [
            Answer("quantile 0.5", 3.0, 0.1, item=3, band=(2.0, 4.0), rank_stderr=0.1),
            Answer("histogram 2", 0.5, 0.1, item=[0.0, 1.0], simultaneous=(0.1, 0.9)),
            Answer("range 1:2 3:4", 0.5, 0.1, cell={"x": [1, 2], "y": [3, 4]}, of=(0.6, 0.1), p_value=0.5),
        ]
    )
    header = as_csv(tables(answers)).splitlines()[0].split(",")
    assert header == list(answers.columns())
    assert {"item_from", "band_to", "simultaneous_from", "x_from", "y_to", "of_a", "of_b"} <= set(header)


def test_markup_in_labels_is_text() -> None:
    assert "<b>" not in Answers([Answer("point", 0.5, 0.1, item="<b>")])._repr_html_()


def test_to_pandas(fruit: Any) -> None:
    pandas = pytest.importorskip("pandas")
    frame = fruit.ask("frequencies").to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["query", "item", "value", "stderr", "low", "high"]
    assert (frame["low"] < frame["high"]).all()
    assert len(hearsay.plan(FRUIT, "point pear", users=100, epsilon=1, mechanisms=["grr"]).to_pandas()) == 1


def test_a_pandas_frame_is_taken_by_column_name() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"other": range(1000), "value": PEOPLE})
    assert hearsay.simulate(SURVEY, frame, seed=1).ask("point pear") == hearsay.simulate(SURVEY, PEOPLE, seed=1).ask(
        "point pear"
    )
    frame.loc[7, "value"] = None
    with pytest.raises(ValueOutsideDomain, match="row 7 of column 'value' is empty"):
        hearsay.simulate(SURVEY, frame)


@pytest.mark.parametrize(
    ("library", "method"), [("pandas", "to_pandas"), ("polars", "to_polars"), ("pyarrow", "to_arrow")]
)
def test_without_the_library_one_line_says_what_to_install(
    library: str, method: str, fruit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingLibrary, match=f"this needs {library}: pip install {library}"):
        getattr(fruit.ask("frequencies"), method)()


def test_other_libraries_get_the_columns(fruit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for library, name, method in (("polars", "DataFrame", "to_polars"), ("pyarrow", "table", "to_arrow")):
        module = ModuleType(library)
        setattr(module, name, lambda columns, **_: columns)
        monkeypatch.setitem(sys.modules, library, module)
        assert set(getattr(fruit.ask("point pear"), method)()) >= {"value", "low", "high"}


def test_frames_are_taken_by_column_name() -> None:
    frame = Frame(axis2=[1, 2, 3] * 100, axis1=[0] * 300)
    found = hearsay.simulate(GRID, frame, seed=2)
    assert found.reports == 300
    assert found.truth("point 0 1") == [pytest.approx(1 / 3)]
    with pytest.raises(ValueOutsideDomain, match=r"no column 'axis2'; it has axis1, age. Rename the column."):
        hearsay.simulate(GRID, Frame(axis1=[0], age=[1]))
    with pytest.raises(ValueOutsideDomain, match="row 1 of column 'axis1' is empty"):
        hearsay.simulate(GRID, Frame(axis1=[0, None], axis2=[0, 0]))


def test_a_column_of_a_frame_is_taken_and_a_bad_cell_has_its_row() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"fruit": PEOPLE})
    assert hearsay.simulate(SURVEY, frame["fruit"]).reports == len(PEOPLE)
    with pytest.raises(ValueOutsideDomain, match=r"Give the column itself, frame\['NAME'\], or rename it"):
        hearsay.simulate(SURVEY, frame)
    frame.loc[7, "fruit"] = "secret"
    with pytest.raises(ValueOutsideDomain, match="row 7 of column 'fruit': value must be one of") as caught:
        hearsay.simulate(SURVEY, frame["fruit"])
    assert "secret" not in str(caught.value)
    frame.loc[7, "fruit"] = None
    with pytest.raises(ValueOutsideDomain, match="row 7 of column 'fruit' is empty"):
        hearsay.simulate(SURVEY, frame["fruit"])
    frame.loc[9, "fruit"] = None
    with pytest.raises(ValueOutsideDomain, match=r"2 rows of column 'fruit' are empty, the first is row 7; fill or"):
        hearsay.simulate(SURVEY, frame["fruit"])


@pytest.mark.parametrize("dtype", ["object", "float64", "Int64", "Float64", "string", "double[pyarrow]", "converted"])
def test_an_empty_cell_is_named_whatever_the_column_s_type(dtype: str) -> None:
    pandas = pytest.importorskip("pandas")
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    survey = {"name": "rating", "mechanism": "grr", "epsilon": 3.0, "domain": {"kind": "ordinal", "size": 6}}
    ratings = pandas.Series([1, 2, 5, None, 3], name="rating", dtype="object")
    ratings = ratings.convert_dtypes() if dtype == "converted" else ratings.astype(dtype)
    with pytest.raises(ValueOutsideDomain, match=r"^row 3 of column 'rating' is empty; fill or drop it$"):
        hearsay.simulate(survey, ratings)
    with pytest.raises(ValueOutsideDomain, match=r"^row 3 of column 'value' is empty; fill or drop it$"):
        hearsay.simulate(survey, pandas.DataFrame({"value": ratings}))


def test_an_empty_truth_value_is_named() -> None:
    pandas = pytest.importorskip("pandas")
    survey = {"name": "smokes", "mechanism": "grr", "epsilon": 3.0, "domain": {"kind": "binary"}}
    with pytest.raises(ValueOutsideDomain, match="row 1 of column 'smokes' is empty"):
        hearsay.simulate(survey, pandas.Series([True, None], name="smokes", dtype="boolean"))


FILMS = {"kind": "key-value", "keys": ["Dune", "Alien"], "low": 1, "high": 5}
RATINGS = {"name": "films", "mechanism": "privkv", "epsilon": 2.0, "domain": FILMS}
SEEN = [(f"p{row}", *[("Dune", 4.0), ("Alien", 2.5), (None, None)][row % 3]) for row in range(600)]


def rated(library: str, rows: list[tuple[Any, ...]]) -> Any:
    columns = dict(zip(("device", "key", "value"), map(list, zip(*rows, strict=True)), strict=True))
    if library == "any":
        return Frame(**columns)
    module = pytest.importorskip(library)
    return (module.table if library == "pyarrow" else module.DataFrame)(columns)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "any"])
def test_people_without_pairs_are_the_same_in_a_frame_and_a_file(library: str, tmp_path: Path) -> None:
    file = tmp_path / "ratings.csv"
    lines = ["device,key,value", *(f"{name},{key or ''},{value or ''}" for name, key, value in SEEN)]
    file.write_text("\n".join(lines))
    survey = hearsay.Survey.of(RATINGS)
    from_file = simulation.simulate(survey, values.load(file, survey.mechanism.domain).values, seeded(1)).state
    found = hearsay.simulate(survey, rated(library, SEEN), seed=1)
    assert found.reports == 600
    assert found.truth("point Dune") == [pytest.approx(1 / 3)]
    assert {name: array.tolist() for name, array in found.state.items()} == {
        name: array.tolist() for name, array in from_file.items()
    }


@pytest.mark.parametrize("dtype", ["object", "string"])
def test_a_missing_key_may_be_written_in_every_way_that_pandas_knows(dtype: str) -> None:
    pandas = pytest.importorskip("pandas")
    rows = {"device": [1, 2, 3, 4], "key": [None, "", float("nan"), "Dune"], "value": [None, None, None, 4]}
    frame = pandas.DataFrame(rows).astype({"key": dtype})
    assert hearsay.simulate(RATINGS, frame, seed=1).truth("point Dune") == [0.25]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "any"])
def test_half_a_pair_in_a_frame_is_refused(library: str) -> None:
    with pytest.raises(ValueOutsideDomain, match=r"^row 1 of column 'value' is empty; fill or drop it$"):
        hearsay.simulate(RATINGS, rated(library, [("a", None, None), ("b", "Dune", None), ("c", "Dune", 3.0)]))
    with pytest.raises(ValueOutsideDomain, match=r"^row 1 of column 'key' is empty; fill or drop it$"):
        hearsay.simulate(RATINGS, rated(library, [("a", None, None), ("b", None, 2.0), ("c", "Dune", 3.0)]))
    with pytest.raises(ValueOutsideDomain, match=r"^row 0 of column 'device' is empty; fill or drop it$"):
        hearsay.simulate(RATINGS, rated(library, [(None, None, None), ("c", "Dune", 3.0)]))


def test_numbered_keys_in_a_column_with_gaps() -> None:
    pandas = pytest.importorskip("pandas")
    survey = {**RATINGS, "domain": {"kind": "key-value", "keys": 3, "values": False}, "mechanism": "auto"}
    frame = pandas.DataFrame({"device": [1, 2, 3, 4], "key": [0, None, 2, 2]})  # pandas makes it a column of floats
    assert hearsay.simulate(survey, frame, seed=1).truth("point 2") == [0.5]


def test_bad_cells_are_counted() -> None:
    with pytest.raises(ValueOutsideDomain, match="2 rows of column 'value', the first is row 1: value must be one of"):
        hearsay.simulate(SURVEY, ["pear", "secret", "apple", "other"])


def test_the_name_of_a_file_is_no_values() -> None:
    with pytest.raises(ValueOutsideDomain, match=r"To read a file: pandas.read_csv\(FILE\)\['COLUMN'\]"):
        hearsay.simulate(SURVEY, "people.csv")


def test_truth_and_comparison(fruit: Any) -> None:
    assert fruit.truth("point pear") == [0.4]
    (row,) = fruit.compare("point pear")
    assert (row.truth, row.holds) == (0.4, True)
    assert abs(row.z) < 4
    assert "<th>holds</th>" in fruit.compare("frequencies")._repr_html_()


def test_plot(fruit: Any) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    assert fruit.ask("frequencies").plot().get_title() == "frequencies"
    assert fruit.compare("frequencies").plot().get_legend() is not None
    line = {**SURVEY, "mechanism": "haar", "domain": {"kind": "ordinal", "size": 16}}
    axes = hearsay.simulate(line, [*range(16)] * 20, seed=1).ask("quantile 0.25 0.75").plot()
    assert [label.get_text() for label in axes.get_xticklabels()] == ["quantile 0.25", "quantile 0.75"]


def test_a_plan_fits_a_terminal() -> None:
    shown = repr(hearsay.plan(FRUIT, "point pear", users=1_000_000, epsilon=1)).splitlines()
    assert max(map(len, shown)) <= 80
    assert sum("*" in line for line in shown) == 1


def test_everything_shows_itself_in_ten_lines(fruit: Any) -> None:
    planned = hearsay.plan(FRUIT, "point pear", users=100, epsilon=1, mechanisms=["grr", "hrr"])
    for shown in (fruit, fruit.survey, planned):
        assert len(repr(shown).splitlines()) <= 10
        assert len(repr(shown)) < 1_500
    assert "1,000" in repr(fruit)
    assert "promise" in repr(fruit)
    assert "grr, epsilon 3" in repr(fruit.survey)
    assert "recommended" in planned._repr_html_()
