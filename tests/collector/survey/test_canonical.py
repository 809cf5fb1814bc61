"""A survey's canonical form is what a registry holds and devices get: it must be a survey, and the same one.

Large epsilons too: mechanisms choose other parts there, and spell them out.
"""

from typing import Any

import pytest

from hearsay.collector.errors import SurveyError
from hearsay.collector.survey.survey import Survey, parse
from hearsay.mechanisms import catalogue

EPSILONS = (0.05, 7.0)
LARGER: list[tuple[str, dict[str, Any]]] = [
    ("flat", {"kind": "ordinal", "size": 5_000}),
    ("hierarchical", {"kind": "ordinal", "size": 600}),
    ("hierarchical", {"kind": "grid", "sizes": [64, 64]}),
    ("hierarchical", {"kind": "grid", "sizes": [16, 16, 16]}),
    ("olh", {"kind": "categorical", "size": 3_000}),
    ("auto", {"kind": "grid", "sizes": [64, 64]}),
    ("auto", {"kind": "ordinal", "size": 300}),
]


def check(survey: Survey) -> None:
    again = parse(survey.canonical())
    assert again.canonical() == survey.canonical()
    assert again.tag == survey.tag


@pytest.mark.parametrize("mechanism", catalogue.shipped())
def test_every_example(mechanism: str) -> None:
    made = 0
    for example in catalogue.examples(mechanism):
        for epsilon in EPSILONS:
            try:
                survey = parse({"name": "a", "mechanism": mechanism, **example, "epsilon": epsilon})
            except SurveyError:
                continue  # a matrix of its own fits one epsilon only
            check(survey)
            made += 1
    assert made


@pytest.mark.parametrize("epsilon", [7.0, 10.0])
@pytest.mark.parametrize(("mechanism", "domain"), LARGER, ids=str)
def test_larger_domains(mechanism: str, domain: dict[str, Any], epsilon: float) -> None:
    check(parse({"name": "a", "mechanism": mechanism, "epsilon": epsilon, "domain": domain}))
