"""`hearsay experiment longitudinal`: the stated figures come out, and others would be noticed."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from hearsay.ops.cli import run
from hearsay.ops.experiments.longitudinal.attack import attack, guessed
from hearsay.ops.experiments.longitudinal.coverage import coverage
from hearsay.ops.experiments.longitudinal.variances import AFRESH, STATED, memoised_t, variances


def test_the_table_and_its_figure_agree_with_what_is_stated(tmp_path: Path) -> None:
    words = ["experiment", "longitudinal", "--quick", "--only", "variances", "--only", "attack", "--out", str(tmp_path)]
    assert run(words) == 0
    files = {"variances.csv", "variances.png", "attack.csv", "attack.png"}
    assert {path.name for path in tmp_path.iterdir()} == files


def test_another_statement_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STATED, AFRESH, (3601.0, 901.0, 250.0, 57.0))
    (failure,) = variances(2, 22).failures
    assert failure.startswith("variances: afresh, hrr at 4: 2")


def test_more_bits_pay_from_a_life_of_eight_on() -> None:
    assert [memoised_t(lifetime) for lifetime in (1.0, 2.0, 4.0, 8.0)] == [1, 1, 1, 2]


def test_the_exact_chances_of_the_averaging_attack() -> None:
    assert round(guessed(1), 4) == 0.4754
    assert round(guessed(10), 3) == 0.773
    assert guessed(100) > 0.9995


def test_large_variances_are_written_without_powers_of_ten() -> None:
    shown = {row[2] for row in variances(2, 22).rows if row[0] == AFRESH}
    assert not any("e+" in cell for cell in shown)
    assert any(cell.startswith("3,5") for cell in shown)


def test_the_guesses_are_drawn_with_their_interval() -> None:
    picture = Figure()
    result = attack(500, 3)
    assert result.draw is not None
    result.draw(picture)
    assert len(picture.axes[0].collections) == 2, "a band around each measured curve"


def test_memoised_lives_are_guessed_as_after_one_window() -> None:
    result = attack(2_000, 3)
    assert not result.failures
    assert {row[4] for row in result.rows} == {result.rows[0][4]}


def test_intervals_over_memoised_windows_hold() -> None:
    result = coverage(20, 22)
    assert not result.failures
    repeated = next(row for row in result.rows if row[0] == 10 and row[1] == "0%")
    assert float(repeated[2].rstrip("%")) < 50 < 90 < float(repeated[3].rstrip("%"))
