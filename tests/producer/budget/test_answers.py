"""What an answer proves: a report waits, keeps its id or gets a new one; the gateway is one that fails as told."""

from pathlib import Path

import pytest

from hearsay.collector.survey.survey import parse
from hearsay.producer.budget.link import Answer
from tests.producer.budget.test_ledger import HOURLY, PLAIN, asked, states, world
from tests.producer.budget.world import DAY_MS, HOUR_MS


def test_a_report_that_was_only_refused_waits_and_gets_a_new_id(tmp_path: Path) -> None:
    refused = world(parse(PLAIN), tmp_path, "keyless")
    assert refused.run(0, "submit") == "kept"
    for _ in range(5):
        refused.now_ms += 30 * HOUR_MS
        assert refused.run(0, "flush") == "flush 1"
    refused.gateway.mood = "well"
    assert refused.run(0, "flush") == "flush 0"
    assert states(refused) == {"stored": 1}
    assert len({body for _, body in refused.gateway.posts}) == 1


@pytest.mark.parametrize(("days", "said"), [(365, "over an hour ahead"), (-2, "over a day behind")])
def test_a_report_of_a_wrong_clock_is_sent_when_it_is_right(
    days: int, said: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = world(parse(PLAIN), tmp_path)
    wrong.ahead_ms = days * DAY_MS
    assert wrong.run(0, "submit") == "kept"
    assert f"this device's clock is {said}" in caplog.text
    wrong.ahead_ms = 0
    assert wrong.run(0, "flush") == "flush 0"
    assert states(wrong) == {"stored": 1}
    (_, refused), (_, sent) = wrong.gateway.posts
    assert refused == sent, "the bytes are the same"


def test_a_refusal_proves_nothing_about_an_attempt_without_an_answer(tmp_path: Path) -> None:
    lost = world(parse(PLAIN), tmp_path, "unsaid")
    assert lost.run(0, "submit") == "kept"  # stored, and the answer is lost
    lost.gateway.mood = "keyless"
    lost.now_ms += 13 * HOUR_MS
    assert lost.run(0, "flush") == "flush 1"
    lost.gateway.mood = "well"
    assert lost.run(0, "flush") == "flush 0"
    assert len(set(lost.gateway.posts)) == len(lost.gateway.stored) == 1, "it keeps its id"


def test_what_was_refused_until_its_window_ended_stays_paid_for(tmp_path: Path) -> None:
    late = world(asked(HOURLY, repeat="once"), tmp_path, "keyless")
    assert late.run(0, "submit") == "kept"
    late.now_ms += HOUR_MS
    assert late.run(0, "flush") == "flush 0"
    assert (states(late), late.processes[0].spent()) == ({"refused": 1}, 0.5), "others have seen it"


PAGES = [Answer(status, {}) for status in (200, 202, 302, 401, 403, 404, 410, 413, 500)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.status))
@pytest.mark.parametrize("asked_for", ["survey", "post"])
def test_a_page_that_is_no_gateway_s_settles_nothing(
    asked_for: str, page: Answer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    portal = world(parse(PLAIN), tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(portal.gateway, asked_for, lambda *given: page)
        assert portal.run(0, "submit") == "kept"
        assert portal.run(0, "flush") == "flush 1"
    (said,) = caplog.messages
    assert said.startswith("reports of survey likes wait, ")
    assert str(page.status) in said
    assert portal.run(0, "flush") == "flush 0"
    assert states(portal) == {"stored": 1}


def test_a_survey_that_was_away_is_asked_for_its_tag_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replaced = world(parse(HOURLY), tmp_path)
    assert replaced.run(0, "submit") == "sent"
    replaced.now_ms += HOUR_MS
    with monkeypatch.context() as patched:
        patched.setattr(replaced.gateway, "post", lambda entry: Answer(404, {"code": "unknown-survey"}))
        assert replaced.run(0, "submit") == "kept"
    another = parse({**HOURLY, "epsilon": 0.25}).canonical()
    monkeypatch.setattr(replaced.gateway, "survey", lambda: Answer(200, {"definition": another}))
    assert replaced.run(0, "flush") == "flush 1"
    assert len(replaced.gateway.stored) == 1, "a report of one definition means nothing under another"
