"""What every experiment does before it begins."""

from pathlib import Path
from typing import Any

import pytest

from hearsay.ops import cli
from hearsay.ops.errors import CheckFailed, OperationError
from hearsay.ops.experiments.lines import line_style, log_scale
from hearsay.ops.experiments.output import Result, publish_all


@pytest.mark.parametrize("experiment", ["context-aware", "metric", "ranges"])
def test_without_matplotlib_it_ends_at_once_with_the_line_how_to_get_it(
    experiment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hearsay.ops.experiments.output.find_spec", lambda name: None)
    assert cli.run(["experiment", experiment, "--out", str(tmp_path / "out")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "hearsay: the figures need matplotlib: pip install 'hearsay-ldp[experiments]'"
    assert not (tmp_path / "out").exists()


def results(rows: int, holds: bool = True) -> list[Result]:
    first, second = (
        Result("first", "the first", ["n"], [[number] for number in range(rows)]),
        Result("second", "the second", ["n"], [[1]]),
    )
    second.expect(holds, "1 is not 2")
    return [first, second]


def test_an_experiment_ends_with_its_files_and_a_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish_all(results(3), tmp_path)
    assert capsys.readouterr().out.splitlines()[-4:] == [
        f"tables are in {tmp_path}/",
        "agreed (1 check): second",
        "did not agree: nothing",
        "shown, with nothing to compare: first",
    ]
    with pytest.raises(CheckFailed, match="1 is not 2"):
        publish_all(results(3, holds=False), tmp_path)
    assert capsys.readouterr().out.splitlines()[-4:] == [
        f"tables are in {tmp_path}/",
        "agreed (0 checks): nothing",
        "did not agree: second: 1 is not 2",
        "shown, with nothing to compare: first",
    ]
    publish_all([Result("third", "the third", ["n"], [[1]], draw=lambda figure: figure.subplots())], tmp_path)
    assert f"tables and figures are in {tmp_path}/" in capsys.readouterr().out


def test_the_verdict_breaks_between_words_at_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    many = [Result(f"figure-{number}", f"Figure {number}", ["n"], [[1]]) for number in range(30)]
    publish_all(many, tmp_path / "here")
    ending = capsys.readouterr().out.partition("shown, ")[2].splitlines()
    assert all(len(line) <= 80 for line in ending)
    assert " ".join(ending).split()[-1] == "figure-29"


@pytest.mark.parametrize(("name", "title"), [("first", "another"), ("another", "the first")])
def test_two_results_never_share_a_file_or_a_title(name: str, title: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="two results are called"):
        publish_all([*results(1), Result(name, title, ["n"], [[1]])], tmp_path)


def test_a_picture_stands_under_the_title_of_its_table(tmp_path: Path) -> None:
    figures: list[Any] = []
    title = "Table 1: " + "a title that is much longer than the picture is wide " * 3
    Result("table-1", title.strip(), ["n"], [[1]], draw=figures.append).publish(tmp_path)
    (figure,) = figures
    assert " ".join(figure.get_suptitle().split()) == title.strip()
    assert figure.get_suptitle().count("\n") == 1


def test_a_picture_says_what_its_bars_show(tmp_path: Path) -> None:
    figures: list[Any] = []
    Result("table-1", "Table 1", ["n"], [[1]], draw=figures.append, bars="one standard error").publish(tmp_path)
    assert figures[0].get_suptitle() == "Table 1\nbars: one standard error"


def test_a_logarithmic_axis_of_less_than_a_decade_has_plain_numbers() -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    axes.plot([1, 2], [0.31, 0.62])
    log_scale(axes, "y")
    axes.figure.draw_without_rendering()
    texts = [tick.get_text() for minor in (False, True) for tick in axes.get_yticklabels(minor=minor)]
    assert {"0.4", "0.6"} <= set(texts)
    assert not any("10" in text for text in texts)


def test_curves_that_coincide_are_all_seen() -> None:
    styles = [line_style(number, 5) for number in range(5)]
    widths = [style["linewidth"] for style in styles]
    assert widths == sorted(set(widths), reverse=True)
    for name in ("color", "linestyle", "marker"):
        assert len({style[name] for style in styles}) == 5


def test_of_a_long_table_the_first_rows_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish_all(results(1_100), tmp_path)
    out = capsys.readouterr().out
    assert len(out.splitlines()) < 40
    assert f"... and 1,078 more rows in {tmp_path}/first.csv" in out
    assert len((tmp_path / "first.csv").read_text().splitlines()) == 1_101


def test_results_do_not_go_into_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OperationError, match="directory of its own"):
        publish_all(results(3), Path())
    assert list(tmp_path.iterdir()) == []
