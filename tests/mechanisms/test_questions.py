"""Questions as people write them, in any script."""

import copy

import numpy as np
import pytest

from hearsay import simulate
from hearsay.mechanisms.errors import QueryError, UnknownQuery
from hearsay.mechanisms.questions import parse_text

SALARY = {"kind": "ordinal", "low": 0, "high": 200_000, "bins": 20}
PLACE = {"kind": "grid", "axes": [{"name": "x", "low": 0, "high": 10, "bins": 5}, {"name": "y", "size": 4}]}


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


@pytest.mark.parametrize(
    ("domain", "question", "covered"),
    [
        (SALARY, "range 39000 51000", "30,000 to 60,000"),
        (SALARY, "range 30000 51000", "30,000 to 60,000"),
        (SALARY, "range 30000 30000", "30,000 to 40,000"),
        (SALARY, "prefix 39000", "0 to 40,000"),
        (SALARY, "point 39000", "30,000 to 40,000"),
        (SALARY, "range 30000 60000", None),
        (SALARY, "prefix 40000", None),
        (PLACE, "range 2:3.5 1:2", "x 2 to 4, y 1 to 2"),
        (PLACE, "range 2:4 1:2", None),
        (PLACE, "point 3 1", "x 2 to 4, y 1"),
        ({"kind": "ordinal", "first": 18, "last": 25}, "range 19 20", None),
        ({"kind": "ordinal", "first": 18, "last": 25}, "point 19", None),
    ],
)
def test_an_answer_about_whole_bins_says_so_where_they_reach_beyond_what_was_asked(
    domain: dict[str, object], question: str, covered: str | None
) -> None:
    survey = {"name": "bins", "mechanism": "haar", "epsilon": 3.0, "domain": domain}
    values = {"x": np.full(200, 1.0), "y": np.ones(200)} if domain is PLACE else np.full(200, 20)
    (answer,) = simulate(survey, values, seed=1).ask(question)
    expected = None if covered is None else f"{question} is answered for {covered}: bins are taken whole"
    assert answer.note == expected
    assert answer.table().get("note") == expected


def test_a_label_in_other_letters_is_named_as_it_is_written() -> None:
    domain = {"kind": "categorical", "categories": ["New York", "Oslo"]}
    survey = {"name": "city", "mechanism": "grr", "epsilon": 3.0, "domain": domain}
    with pytest.raises(QueryError, match="quote a label with spaces: point 'New York'"):
        simulate(survey, ["Oslo"] * 9, seed=1).ask("point new york")


def test_a_copy_of_an_unknown_query_keeps_its_verb_and_its_fields() -> None:
    with pytest.raises(UnknownQuery) as raised:
        parse_text("quartile 0.5")
    again = copy.copy(raised.value)
    assert (again.verb, again.what, again.got) == ("quartile", "query", "'quartile'")
    assert str(again) == str(raised.value)
    assert UnknownQuery("no such query", "quartile").verb == "quartile"
