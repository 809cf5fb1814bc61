"""Options that must be tables or lists of rows, given as anything else: one line, as for any mistake."""

from typing import Any

import pytest

from hearsay.collector.errors import SurveyError
from hearsay.collector.survey.survey import parse


@pytest.mark.parametrize(
    ("mechanism", "domain", "options", "message"),
    [
        ("mean", {"kind": "number", "low": 0, "high": 1}, {"table": [0.2, [1]]}, "options.table must be 9 rows"),
        ("mean", {"kind": "number", "low": 0, "high": 1}, {"table": [1, 2]}, "options.table must be 9 rows"),
        ("matrix", {"kind": "ordinal", "size": 3}, {"metric": {"kind": {}}}, "options.metric must be one of"),
        ("matrix", {"kind": "ordinal", "size": 3}, {"metric": {"kind": []}}, "options.metric must be one of"),
    ],
)
def test_options_of_any_shape(mechanism: str, domain: dict[str, Any], options: dict[str, Any], message: str) -> None:
    table = {"name": "a", "mechanism": mechanism, "epsilon": 1.0, "domain": domain, "options": options}
    with pytest.raises(SurveyError) as caught:
        parse(table)
    assert str(caught.value).startswith(message)


def test_a_value_of_any_length_leaves_a_line_that_can_be_read() -> None:
    table = {"name": "a" * 1_000_000, "mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "binary"}}
    with pytest.raises(SurveyError) as caught:
        parse(table)
    assert str(caught.value).startswith("name must be 1 to 64 of a-z, 0-9 and -")
    assert len(str(caught.value)) < 700
