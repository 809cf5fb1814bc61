"""How often a device takes part: which tables are accepted, what they spend, and what becomes of the tag."""

from typing import Any

import pytest

from hearsay.collector.describe.describe import describe
from hearsay.collector.errors import SurveyError
from hearsay.collector.survey.survey import Survey, parse

PLAIN = {"name": "likes", "mechanism": "hrr", "epsilon": 0.5, "domain": {"kind": "binary"}}
HOURLY = {**PLAIN, "window": {"every": "1h"}}


def asked(table: dict[str, Any], **participation: Any) -> Survey:
    return parse({**table, "participation": participation})


def test_a_file_that_says_nothing_keeps_its_tag_and_one_that_says_something_has_another() -> None:
    assert "participation" not in parse(PLAIN).canonical()
    tags = {
        parse(HOURLY).tag,
        asked(HOURLY, repeat="once").tag,
        asked(HOURLY, repeat="every-window").tag,
        asked(HOURLY, repeat="every-window", lifetime_epsilon=4).tag,
        asked(HOURLY, repeat="sampled", of=30).tag,
        asked(HOURLY, repeat="sampled", of=31).tag,
    }
    assert len(tags) == 6


@pytest.mark.parametrize("table", [{"repeat": "once"}, {"repeat": "sampled", "of": 30, "lifetime_epsilon": 4.0}])
def test_the_canonical_form_is_the_same_survey(table: dict[str, Any]) -> None:
    survey = asked(HOURLY, **table)
    assert survey.canonical()["participation"] == table
    assert parse(survey.canonical()) == survey


@pytest.mark.parametrize(
    ("survey", "per_day", "lifetime"),
    [
        (parse(PLAIN), 0.5, 0.5),
        (asked(HOURLY, repeat="once"), 0.5, 0.5),
        (parse(HOURLY), 12.0, None),
        (asked(HOURLY, repeat="every-window"), 12.0, None),
        (asked(HOURLY, repeat="every-window", lifetime_epsilon=4.0), 4.0, 4.0),
        (asked(HOURLY, repeat="sampled", of=24), 1.0, None),  # 24 hours from noon on meet two groups
        (asked(HOURLY, repeat="memoised"), 1.0, 1.0),  # hrr: two buckets
        (asked({**PLAIN, "window": {"every": "7d"}}, repeat="sampled", of=4, lifetime_epsilon=2.0), 0.5, 2.0),
    ],
)
def test_the_loss_per_report_per_day_and_over_a_life(survey: Survey, per_day: float, lifetime: float | None) -> None:
    stated = describe(survey)["participation"]
    assert stated["loss"] == {"per_report": 0.5, "per_day": per_day, "lifetime": lifetime}
    assert ("warning" in stated) == (lifetime is None)
    assert f"at most {per_day:,g} per day" in stated["words"]


def test_epsilon_is_spent_once_for_all_rounds() -> None:
    domain = {"kind": "key-value", "keys": 4, "pairs": 2}
    survey = parse({**PLAIN, "mechanism": "privkvm", "domain": domain, "rounds": {"reports": 1000}})
    shown = describe(survey)
    assert shown["promise"][1] == "It holds for a device's answers in up to 3 rounds together."
    assert shown["promise"][2] == shown["participation"]["words"]
    assert shown["participation"]["words"] == (
        "A device answers each round at most once. Epsilon spent: 0.5 for all rounds together."
    )


def test_a_survey_without_windows_is_answered_once_and_one_with_windows_in_each() -> None:
    assert parse(PLAIN).participation.repeat == "once"
    assert parse(HOURLY).participation.repeat == "every-window"


@pytest.mark.parametrize(
    ("base", "table", "message"),
    [
        (HOURLY, {}, "participation.repeat is missing"),
        (HOURLY, {"repeat": "twice"}, "participation.repeat must be one of once, every-window, sampled, memoised"),
        (PLAIN, {"repeat": "every-window"}, "must be 'once' without window.every, got 'every-window'"),
        (PLAIN, {"repeat": "memoised"}, "must be 'once' without window.every"),
        ({**HOURLY, "mechanism": "grr"}, {"repeat": "memoised"}, "'memoised' needs a mechanism whose reports"),
        (
            HOURLY,
            {"repeat": "memoised", "lifetime_epsilon": 0.9},
            "at least 1, a life: epsilon 0.5 for each of 2 buckets",
        ),
        (PLAIN, {"repeat": "sampled", "of": 3}, "must be 'once' without window.every"),
        (HOURLY, {"repeat": "sampled"}, "participation.of is missing"),
        (HOURLY, {"repeat": "sampled", "of": 1}, "participation.of must be greater than or equal to 2"),
        (HOURLY, {"repeat": "once", "of": 3}, "participation.of must be left out with repeat 'once', got 3"),
        (HOURLY, {"repeat": "once", "lifetime_epsilon": 0.4}, "lifetime_epsilon must be at least 0.5"),
        (HOURLY, {"repeat": "once", "lifetime_epsilon": float("nan")}, "lifetime_epsilon must be at least 0.5"),
        (HOURLY, {"repeat": "once", "lifetime_epsilon": True}, "lifetime_epsilon must be a number, got True"),
        (HOURLY, {"repeat": "once", "often": 3}, "participation has the unknown key 'often'"),
    ],
)
def test_what_does_not_fit_is_refused(base: dict[str, Any], table: dict[str, Any], message: str) -> None:
    with pytest.raises(SurveyError, match=message):
        asked(base, **table)
