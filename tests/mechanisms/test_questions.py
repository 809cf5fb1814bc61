"""Questions as people write them, in any script."""

import pytest

from hearsay import simulate


@pytest.mark.parametrize("label", ["café au lait", "نمی‌دانم", "👩‍👩‍👧", "10\u00a0km", 'it\'s "so"', "#", "[red]"])
def test_any_label_that_is_a_line_can_be_asked_about(label: str) -> None:
    survey = {
        "name": "labels",
        "mechanism": "grr",
        "epsilon": 3.0,
        "domain": {"kind": "categorical", "categories": ["other", label]},
    }
    found = simulate(survey, [label] * 9 + ["other"], seed=1)
    everything = {answer.item: answer.value for answer in found.ask("frequencies")}
    (answer,) = found.ask(["point", label])
    assert (answer.item, answer.value) == (label, everything[label])
    assert found.ask(answer.query) == [answer], "an answer's question can be asked again"
