"""Options are checked, completed and refused by name."""

from typing import Any

import pytest

from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.options import Option, choice, complete, flag, integer, number

DECLARED = (
    integer("fanout", 4, 2, 16, ""),
    integer("t", None, 1, 8, ""),
    number("rate", 0.5, 0.0, 1.0, "", infinite=True),
    choice("oracle", "oue", ("oue", "hrr"), ""),
    flag("consistency", True, ""),
)


def test_defaults_are_written_out_and_given_values_kept() -> None:
    assert complete(DECLARED, {"oracle": "hrr", "rate": 1}) == {
        "fanout": 4, "t": None, "rate": 1.0, "oracle": "hrr", "consistency": True,
    }  # fmt: skip
    assert complete(DECLARED, {"rate": float("inf")})["rate"] == "inf"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "options must be a table, got list"),
        ({"fanuot": 4}, "unknown key 'fanuot'; allowed: consistency, fanout, oracle, rate, t"),
        ({"fanout": 1}, r"options.fanout must be an integer in 2..16, got 1"),
        ({"fanout": 4.0}, "options.fanout must be an integer"),
        ({"fanout": True}, "options.fanout must be an integer"),
        ({"fanout": None}, "options.fanout must be an integer"),
        ({"rate": 1.5}, r"options.rate must be a number in 0..1, got 1.5"),
        ({"rate": float("nan")}, "options.rate must be a number"),
        ({"rate": "a lot"}, "options.rate must be a number"),
        ({"oracle": "grr"}, "options.oracle must be one of oue, hrr, got 'grr'"),
        ({"consistency": 1}, "options.consistency must be true or false, got 1"),
    ],
)
def test_what_is_refused(given: Any, message: str) -> None:
    with pytest.raises(SpecificationError, match=message):
        complete(DECLARED, given)


def test_a_mechanism_without_options_says_so() -> None:
    no_options: tuple[Option, ...] = ()
    with pytest.raises(SpecificationError, match="allowed: none"):
        complete(no_options, {"t": 1})
