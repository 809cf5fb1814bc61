"""What is written reads back as the same table."""

import tomllib
from typing import Any

import pytest

from hearsay.collector.survey.toml import dump


@pytest.mark.parametrize(
    "table",
    [
        {"name": "a", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 8}, "options": {}},
        {"domain": {"axes": [{"name": "x", "low": -1.5, "high": 2.0, "bins": 4}, {"name": "y", "size": 3}]}, "n": 1},
        {
            "domain": {
                "categories": ['a "quoted" one', "b\\c", "tab\t", "größer 😀", "\x7f \x01 \u2028"],
                "blocks": [[1, 2], [3]],
            }
        },
        {"options": {"epsilon_12": float("inf"), "anchored": True, "tiny": 1e-300}},
    ],
)
def test_round_trip(table: dict[str, Any]) -> None:
    assert tomllib.loads(dump(table)) == table
