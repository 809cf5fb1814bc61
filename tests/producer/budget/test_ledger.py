"""What a device's ledger allows, keeps and gives back; the gateway is one that fails as told."""

import shutil
import socket
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from hearsay import BudgetSpent, Device
from hearsay.collector.errors import OfferRefused, SurveyError
from hearsay.collector.survey.offers import Offer
from hearsay.collector.survey.survey import parse
from hearsay.collector.survey.toml import dump
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.producer.budget import ledger as ledger_module
from hearsay.producer.budget.link import Link, NotAnswered, NotReached
from hearsay.producer.errors import GatewayError, LedgerError, RepeatedReports
from tests.collector.survey.test_offers import DRINKS, in_round
from tests.producer.budget.world import DAY_MS, HOUR_MS, World

PLAIN: dict[str, Any] = {
    **{"name": "likes", "mechanism": "hrr", "epsilon": 0.5},
    "domain": {"kind": "categorical", "categories": ["purple-elephant", "other"]},
}
HOURLY = {**PLAIN, "window": {"every": "1h"}}
WEEKLY = {**PLAIN, "window": {"every": "7d"}}


def asked(base: dict[str, Any], **participation: Any) -> Any:
    return parse({**base, "participation": participation})


def world(survey: Any, tmp_path: Path, mood: str = "well") -> World:
    made = World(survey, tmp_path / "ledger", 1)
    made.gateway.mood = mood
    made.gateway.alone = True
    return made


def states(world: World) -> dict[str, int]:
    (account,) = world.processes[0]._ledger.accounts()
    return account.reports


def test_a_survey_is_answered_once_and_a_window_once(tmp_path: Path) -> None:
    once = world(parse(PLAIN), tmp_path)
    assert [once.run(0, "submit"), once.run(1, "submit")] == ["sent", "budget-spent"]
    assert once.drawn == 1, "nothing is drawn when nothing is left"
    hourly = World(parse(HOURLY), tmp_path / "hourly", 1)
    hourly.gateway.alone = True
    assert [hourly.run(0, "submit"), hourly.run(1, "submit")] == ["sent", "budget-spent"]
    hourly.now_ms += HOUR_MS
    assert hourly.run(1, "submit") == "sent"


def test_a_life_ends(tmp_path: Path) -> None:
    limited = world(asked(HOURLY, repeat="every-window", lifetime_epsilon=1.0), tmp_path)
    outcomes = []
    for _ in range(4):
        outcomes.append(limited.run(0, "submit"))
        limited.now_ms += HOUR_MS
    assert outcomes == ["sent", "sent", "budget-spent", "budget-spent"]
    assert limited.processes[1].spent() == 1.0
    assert "likes (tag" in limited.processes[0].statement()
    assert "spent epsilon 1, 0.5 per report; reports: 2 stored" in limited.processes[0].statement()


def test_one_window_of_every_so_many_is_drawn(tmp_path: Path) -> None:
    sampled = world(asked(HOURLY, repeat="sampled", of=5), tmp_path)
    sampled.now_ms -= sampled.now_ms % (5 * HOUR_MS)
    outcomes = []
    for _ in range(100):
        outcomes.append(sampled.run(0, "submit"))
        sampled.now_ms += HOUR_MS
    groups = [outcomes[start : start + 5] for start in range(0, 100, 5)]
    assert all(sorted(group) == ["sent", *["skipped"] * 4] for group in groups)
    assert len({group.index("sent") for group in groups}) > 2


def test_never_sent_and_a_day_old_has_the_same_bytes_and_a_new_id(tmp_path: Path) -> None:
    offline = world(parse(PLAIN), tmp_path, "offline")
    assert offline.run(0, "submit") == "kept"
    before = offline.processes[0]._ledger.waiting(offline.survey.tag)
    offline.now_ms += DAY_MS + 1
    offline.gateway.mood = "well"
    assert offline.run(0, "flush") == "flush 0"
    ((identity, body),) = offline.gateway.posts
    assert (before, body) == ([1], b"1")
    assert int(identity.replace("-", "")[:12], 16) == offline.now_ms


def test_sent_without_an_answer_is_sent_again_and_given_up_after_a_day(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lost = world(parse(PLAIN), tmp_path, "unsaid")
    assert lost.run(0, "submit") == "kept"
    assert lost.run(0, "flush") == "flush 1"
    assert len(lost.gateway.posts) == 2
    assert len(set(lost.gateway.posts)) == len(lost.gateway.stored) == 1
    lost.now_ms += DAY_MS
    lost.gateway.mood = "well"
    assert lost.run(0, "flush") == "flush 0"
    assert len(lost.gateway.posts) == 2, "it is never sent again"
    assert states(lost) == {"given-up": 1}
    assert "given up" in caplog.text
    assert lost.run(0, "submit") == "budget-spent"


@pytest.mark.parametrize(("mood", "state", "spent"), [("offline", "returned", 0.0), ("lost", "given-up", 0.5)])
def test_a_window_that_is_over_is_not_sent_and_what_never_left_is_given_back(
    mood: str, state: str, spent: float, tmp_path: Path
) -> None:
    late = world(asked(HOURLY, repeat="once"), tmp_path, mood)
    assert late.run(0, "submit") == "kept"
    posts = len(late.gateway.posts)
    late.now_ms += HOUR_MS
    late.gateway.mood = "well"
    late.run(0, "flush")
    assert len(late.gateway.posts) == posts
    assert (states(late), late.processes[0].spent()) == ({state: 1}, spent)
    assert late.run(0, "submit") == ("sent" if mood == "offline" else "budget-spent")


def test_the_pause_grows_and_is_kept_over_restarts(tmp_path: Path) -> None:
    busy = world(parse(HOURLY), tmp_path, "busy")
    assert busy.run(0, "submit") == "kept"
    tries, next_ms = busy.processes[0]._ledger.pause(busy.survey.tag)
    assert (tries, next_ms) == (1, busy.now_ms + 2_000), "Retry-After is the least"
    busy.now_ms += HOUR_MS - 1
    for _ in range(6):
        busy.run(0, "flush")
    _, next_ms = busy.start()._ledger.pause(busy.survey.tag)
    assert 32_000 <= next_ms - busy.now_ms <= 64_000
    busy.now_ms += 1
    busy.gateway.mood = "well"
    assert busy.run(0, "submit") == "kept", "the pause is not over"
    busy.now_ms += 64_000
    assert busy.run(0, "flush") == "flush 0"


def test_a_gateway_whose_server_is_away_keeps_the_report_waiting(tmp_path: Path) -> None:
    busy = world(parse(PLAIN), tmp_path, "busy")
    assert busy.run(0, "submit") == "kept"
    assert not busy.gateway.posts, "nothing is sent to a gateway that does not say which survey it has"
    busy.gateway.mood = "well"
    assert busy.run(0, "flush") == "flush 0"
    assert states(busy) == {"stored": 1}


def test_a_full_outbox_makes_no_more_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "OUTBOX", 3)
    full = world(parse(HOURLY), tmp_path, "offline")
    full.survey.windows.of(0, None)
    outcomes = []
    for _ in range(4):
        outcomes.append(full.run(0, "submit"))
        full.ahead_ms -= HOUR_MS  # into windows that are not over yet
    assert outcomes == ["kept", "kept", "kept", "ledger"]


def test_old_reports_are_only_counted_and_their_windows_stay_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "FINISHED_KEPT", 5)
    long = world(parse(HOURLY), tmp_path)
    for _ in range(20):
        assert long.run(0, "submit") == "sent"
        long.now_ms += HOUR_MS
    assert states(long) == {"stored": 20}
    assert long.processes[0].spent() == 10.0
    long.now_ms -= 20 * HOUR_MS
    assert long.run(0, "submit") == "budget-spent"


def test_the_file_is_the_owner_s_and_has_no_value(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    device = Device(HOURLY, ledger=path)
    device.report("purple-elephant")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    columns = [row for row in device._with_ledger()._ledger._connect(path).iterdump() if "INSERT INTO" in row]
    assert not [row for row in columns if '"surveys"' not in row and "elephant" in row]
    assert device.spent() == 0.5
    with pytest.raises(BudgetSpent, match="is answered"):
        Device(HOURLY, ledger=path).report("other")


def test_two_processes_spend_once(tmp_path: Path) -> None:
    program = (
        "import sys; from hearsay import BudgetSpent, Device\n"
        f"device = Device({WEEKLY!r}, ledger=sys.argv[1])\n"
        "try: device.report('other'); print('made')\n"
        "except BudgetSpent: print('spent')"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "ledger")], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert sorted(each.communicate()[0].strip() for each in started) == ["made", "spent"]


def test_a_memoised_life_is_paid_for_at_once_and_repeats_itself(tmp_path: Path) -> None:
    survey = asked(HOURLY, repeat="memoised", lifetime_epsilon=1.0)
    life = world(survey, tmp_path, "offline")
    for _ in range(3):
        assert life.run(0, "submit") == "kept"
        life.now_ms += HOUR_MS
    life.run(0, "flush")  # the first of them never left the device, and the life stays paid for
    assert (states(life), life.processes[0].spent()) == ({"returned": 3}, 1.0)
    reports = set()
    for number in range(5):
        (tmp_path / "device").unlink(missing_ok=True)
        shutil.copy(tmp_path / "ledger", tmp_path / "device")
        reports.add(Device(survey, ledger=tmp_path / "device").report(["other", "purple-elephant"][number % 2]))
    assert len(reports) <= 2
    with pytest.raises(LedgerError, match="is memoised: its devices need a ledger"):
        Device(survey)


def test_rounds_are_remembered(tmp_path: Path) -> None:
    first = Device(in_round(1), ledger=tmp_path / "ledger")
    first.report(DRINKS, Offer.of(in_round(2), seeded(1)).table())
    again = Device(in_round(1), ledger=tmp_path / "ledger")
    assert again.answered == 2
    for number in (1, 2):
        with pytest.raises((OfferRefused, BudgetSpent)):
            again.report(DRINKS, Offer.of(in_round(number), seeded(1)).table())
    again.report(DRINKS, Offer.of(in_round(3), seeded(1)).table())
    assert again.spent() == again.survey.epsilon, "epsilon covers all rounds"
    assert f"spent epsilon {again.spent():g} for all rounds together; reports: 2 handed-out" in again.statement()


def test_an_application_allows_one_tag_and_so_much_epsilon(tmp_path: Path) -> None:
    survey = parse(PLAIN)
    assert Device(PLAIN, tag=survey.tag, max_epsilon=0.5).survey.tag == survey.tag
    with pytest.raises(SurveyError, match="must have the tag"):
        Device(HOURLY, tag=survey.tag)
    with pytest.raises(SurveyError, match=r"epsilon must be at most 0\.4"):
        Device(PLAIN, max_epsilon=0.4)
    with pytest.raises(LedgerError, match="has no ledger"):
        Device(PLAIN).submit("other")
    with pytest.raises(GatewayError, match="need the survey's URL"):
        Device(PLAIN, ledger=tmp_path / "ledger").submit("other")
    for ledger in (None, tmp_path / "ledger"):
        with pytest.raises(GatewayError, match="the survey's URL must be like https://"):
            Device("127.0.0.1:8788/v1/surveys/likes", ledger=ledger)


def test_a_file_in_a_folder_that_is_named_as_a_gateway_s_addresses_are(tmp_path: Path) -> None:
    file = tmp_path / "v1" / "surveys" / "likes.toml"
    file.parent.mkdir(parents=True)
    file.write_text(dump(parse(PLAIN).canonical()))
    assert Device(str(file)).survey.name == "likes"
    assert Device(str(file), ledger=tmp_path / "ledger").survey.name == "likes"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://gateway.example/v1/surveys/likes", "plain http is for this machine only"),
        ("http://127.0.0.1.example/v1/surveys/likes", "plain http is for this machine only"),
        ("https://user:word@gateway.example/v1/surveys/likes", "must be like"),
        ("https://gateway.example/likes", "must be like"),
        ("ftp://127.0.0.1/v1/surveys/likes", "must be like"),
        ("127.0.0.1:8788/v1/surveys/likes", "must be like"),
        ("http://127.0.0.1:8788/v1/surveys/my likes", "must have no spaces and only ASCII"),
        ("http://127.0.0.1:8788/v1/surveys/gr\u00fcn", "must have no spaces and only ASCII"),
    ],
)
def test_addresses_that_are_refused(url: str, message: str) -> None:
    with pytest.raises(GatewayError, match=message):
        Link(url)


def test_a_key_that_is_no_text_is_refused() -> None:
    with pytest.raises(GatewayError, match="the key must be one word"):
        Link("http://127.0.0.1:8788/v1/surveys/likes", key=123)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scheme", "answer", "message"),
    [
        ("https", b"HTTP/1.1 400 Bad Request\r\n\r\n", "if it is a plain port, the URL starts with http://"),
        ("http", b"", "if it is a TLS port, the URL starts with https://"),
        ("http", b"\x15\x03\x03\x00\x02\x02\x32", "if it is a TLS port, the URL starts with https://"),
    ],
)
def test_the_wrong_scheme_is_named(scheme: str, answer: bytes, message: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):  # the device may hang up first
                connection.recv(4_096)
                connection.sendall(answer)
                connection.shutdown(socket.SHUT_WR)
                connection.recv(4_096)

        thread = Thread(target=hang_up, daemon=True)
        thread.start()
        with pytest.raises((NotReached, NotAnswered), match=message):
            Link(f"{scheme}://127.0.0.1:{server.getsockname()[1]}/v1/surveys/likes").survey()
        thread.join(10)


def test_a_file_that_is_no_ledger(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a ledger, but long enough to be looked at" * 99)
    with pytest.raises(LedgerError, match="cannot be used"):
        Device(PLAIN, ledger=tmp_path / "text")
    with pytest.raises(LedgerError, match="No such file"):
        Device(PLAIN, ledger=tmp_path / "nowhere" / "ledger")


def test_a_device_without_a_ledger_warns_once() -> None:
    device = Device(PLAIN)
    device.report("other")
    with pytest.warns(RepeatedReports, match="each report spends epsilon") as caught:
        _ = [device.report("other") for _ in range(2)]
    assert len(caught) == 1
    assert caught[0].filename == __file__
