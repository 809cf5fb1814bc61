"""Which texts are numbers: one by one, in columns, and in questions."""

from math import isnan

import numpy as np
import pytest

from hearsay.mechanisms.domains.numbers import number, numbers, plain_numbers, read_matrix

PLAIN = {"3": 3.0, " 3.5 ": 3.5, "-2": -2.0, "+1e3": 1000.0}
NOT_NUMBERS = ["1_5", "٣", "３", "३.5", "1\u00a0", "−2", "", "x", "3,5"]


@pytest.mark.parametrize("text", PLAIN)
def test_plain_numbers_are_read(text: str) -> None:
    assert number(text) == number(text.encode()) == PLAIN[text]


@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_what_may_mean_something_else_is_none(text: str) -> None:
    assert isnan(number(text))
    assert isnan(number(text.encode()))


@pytest.mark.parametrize("kind", [list, np.array, lambda texts: np.array(texts, dtype=object)])
def test_a_column_is_read_as_its_texts_one_by_one(kind: type) -> None:
    for text in NOT_NUMBERS:
        found, _ = numbers(kind([*PLAIN, text]))
        assert found[:-1].tolist() == list(PLAIN.values())
        assert isnan(found[-1])


def test_every_second_value_of_an_array_is_read() -> None:
    found, _ = numbers(np.array(["1", "1_5", "3", "４"])[::2])
    assert found.tolist() == [1.0, 3.0]


@pytest.mark.parametrize("kind", [complex, np.complex64, np.complex128])
def test_row_13_a_complex_number_is_none(kind: type) -> None:
    """Row 13 of an attacker's list: its imaginary part was dropped with a warning."""
    assert isnan(number(kind(2)))
    assert np.isnan(numbers(np.array([kind(2 + 1j)]))[0]).all()
    assert np.isnan(numbers([1.0, kind(2)])[0][1])


def test_what_is_no_list_of_numbers_is_none() -> None:
    assert np.isnan(plain_numbers([["1", "2"], ["3", "4"]])).all()
    assert np.isnan(plain_numbers([None, {}])).all()


def test_a_matrix_from_a_file_takes_no_other_digits() -> None:
    assert read_matrix("0.5,inf\n٣,nan") == [[0.5, "inf"], ["٣", "nan"]]
