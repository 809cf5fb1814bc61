"""Every mistake in a survey is one line with the field, what is allowed and what was got."""

import datetime
from collections.abc import Iterator
from typing import Any

import pytest

from hearsay.collector.errors import SurveyError
from hearsay.collector.survey.survey import Survey, parse
from hearsay.mechanisms import catalogue
from hearsay.mechanisms.catalogue import DOMAINS
from tests.collector.tables import BINNED, SIZED, changed, complete
from tests.mechanisms.shared import CASES, Case


def error_of(table: dict[str, Any]) -> str:
    with pytest.raises(SurveyError) as caught:
        parse(table)
    message = str(caught.value)
    assert message.isprintable(), "an error must be one line"
    return message


NAMES = "1 to 64 of a-z, 0-9 and -, not starting or ending with -"
DURATION = "must be a number above 0 and one of s, m, h, d, such as 1h"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("name", ..., "name is missing"),
        ("name", 5, "name must be a valid string, got 5"),
        ("name", "", f"name must be {NAMES}, got ''"),
        ("name", "Drinks", f"name must be {NAMES}, got 'Drinks'"),
        ("name", "-drinks", f"name must be {NAMES}, got '-drinks'"),
        ("name", "drinks-", f"name must be {NAMES}, got 'drinks-'"),
        ("name", "a" * 65, f"name must be {NAMES}, got '{'a' * 65}'"),
        ("name", "a}b", f"name must be {NAMES}, got 'a}}b'"),
        ("name", "drinks\n", f"name must be {NAMES}, got 'drinks\\n'"),
        ("mechanism", ..., "mechanism is missing"),
        ("mechanism", ["olh"], "mechanism must be a valid string, got ['olh']"),
        ("epsilon", ..., "epsilon is missing"),
        ("epsilon", "1.1", "epsilon must be a number, not a text: write it without quotes, got '1.1'"),
        ("epsilon", True, "epsilon must be finite and > 0, got True"),
        ("epsilon", float("nan"), "epsilon must be finite and > 0, got nan"),
        ("epsilon", float("inf"), "epsilon must be finite and > 0, got inf"),
        ("epsilon", 0, "epsilon must be > 0 and at most 50, got 0"),
        ("epsilon", -1.0, "epsilon must be > 0 and at most 50, got -1.0"),
        ("epsilon", 51, "epsilon must be > 0 and at most 50, got 51"),
        ("epsilon", 10**400, "epsilon must be an integer of at most 64 bits, got 1329 bits"),
        ("domain", ..., "domain is missing"),
        ("domain", 6, "domain must be a table, got int"),
        ("domain", {}, f"domain.kind must be one of {', '.join(DOMAINS)}, got None"),
        ("domain", {"kind": "colours"}, f"domain.kind must be one of {', '.join(DOMAINS)}, got 'colours'"),
        ("domain", {"kind": ["grid"]}, f"domain.kind must be one of {', '.join(DOMAINS)}, got ['grid']"),
        ("domain", {"kind": "categorical"}, "domain must have exactly one of size, categories"),
        ("domain.size", 5, "domain must have exactly one of size, categories"),
        ("domain", SIZED | {"size": 1}, "domain.size must be an integer in 2..268435456, got 1"),
        ("domain", SIZED | {"size": 6.0}, "domain.size must be an integer in 2..268435456, got 6.0"),
        ("domain", SIZED | {"size": True}, "domain.size must be an integer in 2..268435456, got True"),
        ("domain", SIZED | {"size": 1 << 63}, "domain.size must be an integer of at most 64 bits, got 64 bits"),
        ("domain", SIZED | {"blocks": 7}, "domain.blocks must be a block size in 1..6, got 7"),
        ("domain", SIZED | {"blocks": []}, "domain.blocks must be a list that is not empty, got []"),
        (
            "domain",
            SIZED | {"blocks": [[0, 1], [1, 2]]},
            "domain.blocks must hold every value of the domain exactly once",
        ),
        ("domain", SIZED | {"blocks": [[[0, 1]]]}, "domain.blocks must hold values of the domain, got [0, 1]"),
        ("domain", SIZED | {"sensitive": [6]}, "domain.sensitive must hold values of the domain, got 6"),
        ("domain", SIZED | {"sensitive": [1, 1]}, "domain.sensitive must not name a value twice"),
        ("domain.categories", "tea", "domain.categories must be a list that is not empty, got 'tea'"),
        ("domain.categories", ["tea"], "domain.categories must have at least 2 labels, got 1"),
        ("domain.categories", ["tea", "tea"], "domain.categories must be different texts that are not empty"),
        ("domain.categories", ["tea", 5], "domain.categories must be different texts that are not empty"),
        (
            "domain.colour",
            1,
            "domain has the unknown key 'colour'; allowed: blocks, categories, kind, sensitive, size",
        ),
        ("domain", BINNED | {"bins": 1}, "domain.bins must be an integer in 2..268435456, got 1"),
        ("domain", BINNED | {"low": "0"}, "domain.low must be a finite number, got '0'"),
        ("domain", BINNED | {"high": float("inf")}, "domain.high must be a finite number, got inf"),
        ("domain", BINNED | {"low": 10}, "domain.low must be below domain.high, got 10 and 10"),
        (
            "domain",
            {"kind": "ordinal", "size": 5, "low": 0},
            "domain.low goes with bins, not with size",
        ),
        (
            "domain",
            {"kind": "binary", "categories": ["a", "b", "c"]},
            "domain.categories of a binary domain must be two labels, got 3",
        ),
        ("domain", {"kind": "grid"}, "domain of kind grid must have exactly one of sizes, axes"),
        ("domain", {"kind": "grid", "sizes": 5}, "domain.sizes must be a list that is not empty, got 5"),
        ("domain", {"kind": "grid", "axes": [3]}, "domain.axes[1] must be a table, got int"),
        (
            "domain",
            {"kind": "grid", "axes": [{"name": "", "size": 3}]},
            "domain.axes[1].name must be a text, got ''",
        ),
        (
            "domain",
            {"kind": "grid", "axes": [{"name": "a", "size": 3}, {"name": "a", "size": 3}]},
            "domain.axes must have different names",
        ),
        (
            "domain",
            {"kind": "grid", "axes": [{"size": 3, "colour": 1}]},
            "domain.axes[1] has the unknown key 'colour'; allowed: bins, categories, first, high, last, low, name, "
            "size",
        ),
        (
            "domain",
            {"kind": "grid", "sizes": [1 << 20, 1 << 20]},
            "domain must have at most 268435456 cells, got 1099511627776",
        ),
        ("options", 5, "options must be a table, got int"),
        ("options.tt", 5, "options has the unknown key 'tt'; allowed: named, t, variant"),
        ("options.t", 0, "options.t must be an integer in 1..15, got 0"),
        ("options.t", "2", "options.t must be an integer in 1..15, got '2'"),
        ("window", "1h", "window must be a table, got str"),
        ("window.evry", "1h", "window has the unknown key 'evry'; did you mean every? allowed: every, retain"),
        ("window.every", 60, "window.every must be a valid string, got 60"),
        ("window.every", "1 h", f"window.every {DURATION}, got '1 h'"),
        ("window.every", "0h", f"window.every {DURATION}, got '0h'"),
        ("window.retain", "month", f"window.retain {DURATION}, got 'month'"),
        ("answers", [], "answers must be a table, got list"),
        ("answers.minimum", 5, "answers has the unknown key 'minimum'; allowed: minimum_reports, postprocess"),
        ("answers.minimum_reports", 0, "answers.minimum_reports must be greater than or equal to 1, got 0"),
        ("answers.minimum_reports", "9", "answers.minimum_reports must be a valid integer, got '9'"),
        ("answers.minimum_reports", True, "answers.minimum_reports must be a valid integer, got True"),
        (
            "answers.postprocess",
            "isotonic",
            "answers.postprocess isotonic needs an ordinal domain, got 'categorical'",
        ),
        ("answers.postprocess", True, "answers.postprocess must be a valid string, got True"),
        (
            "colour",
            "red",
            "survey has the unknown key 'colour'; allowed: rounds, options, epsilon (and 7 others)",
        ),
    ],
)
def test_a_mistake_is_named_with_what_is_allowed_and_what_was_got(path: str, value: Any, message: str) -> None:
    assert error_of(changed(path, value)) == message


def test_an_unknown_mechanism_is_told_what_there_is() -> None:
    others = len(catalogue.names()) - 3
    message = f"mechanism must be one of hrr, hr, grr (and {others} others), got 'hrrr'"
    assert error_of(changed("mechanism", "hrrr")) == message


def test_a_mechanism_refuses_domains_that_it_cannot_serve() -> None:
    table = changed("mechanism", "metric-l1")
    assert (
        error_of(table) == "domain.kind must be one of ordinal, grid, count for mechanism metric-l1, got 'categorical'"
    )


def paths(table: dict[str, Any], before: str = "") -> Iterator[str]:
    for key, value in table.items():
        yield before + key
        if isinstance(value, dict):
            yield from paths(value, f"{before}{key}.")


NASTY = [
    None,
    True,
    -1,
    0,
    2,
    3.5,
    float("nan"),
    float("-inf"),
    10**30,
    10**5_000,
    "",
    "inf",
    "two\nlines",
    [],
    [[0, 1]],
    [["a", 1], {}],
    {},
    {"a\nb": 10**400},
    b"bytes",
    datetime.date(2025, 1, 31),
    ...,
]


AUTO = Case("auto", {"mechanism": "auto", "epsilon": 1.0, "domain": SIZED})


@pytest.mark.parametrize("case", [*CASES, AUTO], ids=lambda case: case.name)
def test_nothing_but_a_survey_error_comes_out_of_any_field(case: Case) -> None:
    table, messages = complete(case), []
    for path in paths(table):
        for value in NASTY:
            try:
                parse(changed(path, value, table))
            except SurveyError as error:
                messages.append(str(error))
    assert len(messages) > len(NASTY)
    assert all(message.isprintable() and len(message) < 2_000 for message in messages)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_unknown_keys_are_refused_at_every_level(case: Case) -> None:
    table = complete(case)
    for path in ("colour", "domain.colour", "options.colour", "window.colour", "answers.colour"):
        assert "unknown key 'colour'; allowed: " in error_of(changed(path, 1, table))


def test_auto_leaves_no_option_to_choose() -> None:
    assert error_of(changed("mechanism", "auto")) == (
        'options must be empty where mechanism is "auto", got t; to set it, write mechanism = "olh" or "hrr"'
    )


def test_an_unknown_post_processing_is_told_what_there_is() -> None:
    message = error_of(changed("answers.postprocess", "round"))
    assert message.startswith("answers.postprocess must be one of ")
    assert message.endswith(", got 'round'")


@pytest.mark.parametrize("source", [5, None, ["a.toml"], b"a.toml"])
def test_what_is_no_survey_at_all_is_refused_by_its_type(source: Any) -> None:
    with pytest.raises(SurveyError, match=f"^survey must be a table, the path .* got {type(source).__name__}$"):
        Survey.of(source)


def test_an_unknown_key_is_named_before_what_is_missing() -> None:
    table = {"name": "a", "mechansim": "grr", "epsilon": 1.0, "domain": {"kind": "binary"}}
    assert error_of(table).startswith("survey has the unknown key 'mechansim'; did you mean mechanism? allowed: ")
