"""Numbers of the bench table as people read them."""

import pytest

from hearsay.ops.bench.row import readable


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.001234, "0.00123"), (999.4, "999"), (999.6, "1 k"), (12_345, "12.3 k"), (999_600, "1 M"), (352e6, "352 M")],
)
def test_a_number_has_three_digits_and_no_exponent(number: float, text: str) -> None:
    assert readable(number) == text
