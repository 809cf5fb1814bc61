"""Surveys in which some values are better protected than others say which, in their own labels."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hearsay.collector.survey.survey import load
from hearsay.mechanisms import Mechanism, build
from hearsay.mechanisms.guarantees.protection import Protection
from hearsay.ops import cli
from hearsay.ops.demo.scene import SURVEYS
from tests.mechanisms.shared import CASES, Case


def mechanism(name: str, domain: dict[str, Any], **options: Any) -> Mechanism:
    return build({"mechanism": name, "epsilon": 1.0, "domain": {"kind": "categorical", **domain}, "options": options})


def of(made: Mechanism) -> Protection:
    found = made.guarantee.protection(made.domain)
    assert found is not None
    return found


def test_sensitive_values_are_named_and_the_others_too() -> None:
    found = of(load(SURVEYS / "health-condition.toml").mechanism)
    (protected,), (exposed,) = found.protected, found.not_protected
    assert protected.startswith(
        "holding depression, hepatitis or hiv: no report is more than e^1 = 2.72 times likelier"
    )
    assert exposed.startswith("holding healthy, allergy, flu or diabetes: a report may show which of them")


def test_where_every_value_is_sensitive_nothing_is_exposed() -> None:
    assert of(mechanism("highlow-hr", {"size": 3, "sensitive": [0, 1, 2]})).not_protected == []


def test_blocks_are_listed_and_lonely_values_stand_out() -> None:
    found = of(load(SURVEYS / "home-town.toml").mechanism)
    assert found.protected[0].startswith(
        "which of Avonby, Barrow, Coldale or Dunmere a device holds: no report is more than"
    )
    assert found.protected[1] == "which of Eastwick, Fenton, Gorse or Harbour a device holds"
    assert found.not_protected == [
        "which of the 3 blocks a device's value is in: every report shows it",
        "holding Island: alone in its block, so every report shows it",
    ]


def test_long_lists_are_cut() -> None:
    found = of(mechanism("block-hr", {"size": 1_000, "blocks": 50}))
    assert "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ... (50 values)" in found.protected[0]
    assert found.protected[-1] == "likewise within the other 12 blocks"
    assert len(found.protected) == 9


def test_a_binary_question_with_one_harmless_answer() -> None:
    domain = {"kind": "binary", "categories": ["no", "yes"]}
    found = of(mechanism("binary", domain, epsilon_12="inf", epsilon_21=1.0))
    assert found.protected == [
        "holding yes: no report is more than e^1 = 2.72 times likelier than under any other value"
    ]
    assert found.not_protected == ["holding no rather than yes: a report may show it"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_said_to_be_protected_is_in_the_promise(case: Case) -> None:
    made = case.build()
    found, bound = made.guarantee.protection(made.domain), made.guarantee.matrix(made.domain)
    exposed = np.isinf(bound).any()
    if found is None:
        assert not exposed, "a promise with exceptions must name them"
    else:
        assert bool(found.not_protected) == bool(exposed)


@pytest.mark.parametrize(
    ("survey", "says"),
    [
        (
            "health-condition",
            ["Protected:", "holding depression, hepatitis or hiv", "NOT protected:", "diabetes"],
        ),
        ("home-town", ["which of Eastwick, Fenton, Gorse or Harbour", "NOT protected:", "holding Island"]),
    ],
)
def test_survey_show_says_it(survey: str, says: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["survey", "show", str(SURVEYS / f"{survey}.toml")]) == 0
    shown = capsys.readouterr().out
    for words in says:
        assert words in shown


def test_survey_show_says_why_auto_chose(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "any.toml"
    file.write_text('name = "any"\nmechanism = "auto"\nepsilon = 1.0\n[domain]\nkind = "categorical"\nsize = 30\n')
    assert cli.run(["survey", "show", str(file)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert 'mechanism = "auto"' not in shown
    assert "Chosen automatically: " in shown
    assert "predicted standard error of single values" in shown
