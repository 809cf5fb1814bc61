"""A page answers a survey through the gateway: offline and back, twice in one window without spending twice."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import redis

from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import load, parse
from hearsay.ops.demo.scene import SURVEYS
from tests.browser.chromium import Tab, program
from tests.browser.device.page import MINUTES, elsewhere, offline, opened, start, submit
from tests.collector.gateway.running import gateway

pytestmark = pytest.mark.skipif(program() is None, reason="no Chromium on this machine: install Debian's chromium")


def test_a_page_answers_a_survey(client: redis.Redis, prefix: str, surveys: dict[str, Registered], tab: Tab) -> None:
    stream = surveys["minutes"].shards[0].keys.stream
    with gateway(client, prefix) as sender:
        start(tab, sender)
        assert opened(tab, "minutes", tag=surveys["minutes"].survey.tag, maxEpsilon=1.0) == "opened"
        assert submit(tab, 99) == "RangeError"
        assert tab.run("device.spent()") == []
        offline(tab, True)
        assert submit(tab, 17) == "kept"
        assert submit(tab, 17) == "BudgetSpent"
        assert opened(tab, "minutes") == "opened"  # by the answer that is kept
        assert client.xlen(stream) == 0
        offline(tab, False)
        answers = list(tab.run("device.flush()").values())
        assert answers in (["sent"], [])  # the first device may have noticed that the browser is back
        assert client.xlen(stream) == 1
        start(tab, sender)  # the page is loaded again
        assert opened(tab, "minutes") == "opened"
        assert submit(tab, 17) == "BudgetSpent"
        (spent,) = tab.run("device.spent()")
        assert (spent["survey"], spent["epsilon"]) == ("minutes", 1.0)
        assert client.xlen(stream) == 1
        assert tab.run("device.flush()") == {}


def test_a_retry_sends_the_same_bytes(
    client: redis.Redis, prefix: str, surveys: dict[str, Registered], tab: Tab
) -> None:
    lost = (
        "globalThis.sent = []; const real = globalThis.fetch; globalThis.fetch = (url, options) => {"
        "if (!options) return real(url); sent.push([options.headers['Idempotency-Key'], String(options.body)]);"
        "return sent.length === 1 ? real(url, options).then(() => { throw new TypeError('the answer is lost'); })"
        " : real(url, options); }; 0"
    )
    with gateway(client, prefix) as sender:
        start(tab, sender)
        assert opened(tab, "likes") == "opened"
        tab.run("device.flush()")  # after the one of `open`
        tab.run(lost)
        assert submit(tab, "a") == "kept"
        assert list(tab.run("device.flush()").values()) == ["sent"]
        first, second = tab.run("sent")
        assert first == second
        assert client.xlen(surveys["likes"].shards[0].keys.stream) == 1


def test_windows_and_days_pass(client: redis.Redis, prefix: str, surveys: dict[str, Registered], tab: Tab) -> None:
    clock = "globalThis.shift = 0; const now = Date.now; Date.now = () => now() + shift * 864e5; 0"
    with gateway(client, prefix) as sender:
        start(tab, sender)
        tab.run(clock)
        assert opened(tab, "minutes") == "opened"
        elsewhere(tab)
        offline(tab, True)
        assert submit(tab, 3) == "kept"
        tab.run("shift = 31")
        assert tab.run("device.flush()") == {}
        assert tab.run("device.spent()") == []  # it never left the device
        tab.run("shift = 0")
        offline(tab, False)
        assert submit(tab, 3) == "sent"
        tab.run("shift = 31")
        assert submit(tab, 3) == "BudgetSpent"  # another window, but 2.0 is above the lifetime's 1.5
        assert opened(tab, "likes") == "opened"
        elsewhere(tab)
        tab.run("shift = -2")
        offline(tab, True)
        assert submit(tab, "b") == "kept"
        tab.run("shift = 0")
        offline(tab, False)
        assert list(tab.run("device.flush()").values()) == ["sent"]  # under a new id: the old one is expired
        assert client.xlen(surveys["likes"].shards[0].keys.stream) == 1
        assert len(tab.run("device.spent()")) == 2


def test_one_window_of_every_so_many(client: redis.Redis, prefix: str, tab: Tab) -> None:
    table = {**MINUTES, "name": "sampled", "window": {"every": "1d"}, "participation": {"repeat": "sampled", "of": 5}}
    registered = Registry(client, prefix).add(parse(table))
    memoised = {**MINUTES, "name": "memoised", "participation": {"repeat": "memoised"}}
    Registry(client, prefix).add(parse(memoised))
    # The clock begins with a group of five days.
    begun = "globalThis.day = 0; const now = 5 * 864e5 * Math.ceil(Date.now() / 432e6);"
    clock = begun + " Date.now = () => now + day * 864e5; 0"
    with gateway(client, prefix) as sender:
        start(tab, sender)
        assert opened(tab, "memoised").startswith("Refused: a memoised survey has no form")
        tab.run(clock)
        assert opened(tab, "sampled") == "opened"
        elsewhere(tab)
        offline(tab, True)  # the gateway's own clock would refuse these ids
        told = []
        for day in range(15):
            tab.run(f"day = {day}")
            told.append(submit(tab, 3))
            start_again = submit(tab, 3)
            assert start_again in ("skipped", "BudgetSpent")
            assert (start_again == "BudgetSpent") == (told[-1] == "kept")
        assert [told[first : first + 5].count("kept") for first in (0, 5, 10)] == [1, 1, 1]
        assert set(told) == {"kept", "skipped"}
        assert opened(tab, "sampled") == "opened"
        elsewhere(tab)
        tab.run("device.flush()")
        spent = [each for each in tab.run("device.spent()") if each["epsilon"]]
        still = int(told[-1] == "kept")
        assert len(spent) == still, "reports of windows that passed never left, and were given back"
        offline(tab, False)
    assert client.xlen(registered.shards[0].keys.stream) == 0


def test_a_gateway_on_this_machine_is_asked_also_without_a_network(
    client: redis.Redis, prefix: str, surveys: dict[str, Registered], tab: Tab
) -> None:
    loopback_only = "Object.defineProperty(navigator, 'onLine', { value: false }); 0"
    with gateway(client, prefix) as sender:
        start(tab, sender)
        tab.run(loopback_only)
        assert opened(tab, "likes") == "opened"
        assert submit(tab, "a") == "sent"


def test_two_at_once_spend_once(client: redis.Redis, prefix: str, surveys: dict[str, Registered], tab: Tab) -> None:
    with gateway(client, prefix) as sender:
        start(tab, sender)
        assert opened(tab, "likes") == "opened"
        both = tab.run(
            "hearsay.Device.open(location.origin, 'likes').then((other) => Promise.all("
            "[device, other].map((each) => each.submit('a').catch((error) => error.constructor.name))))"
        )
        assert sorted(both) == ["BudgetSpent", "sent"]
        assert client.xlen(surveys["likes"].shards[0].keys.stream) == 1


def test_what_an_application_does_not_allow(
    client: redis.Redis, prefix: str, surveys: dict[str, Registered], tab: Tab
) -> None:
    with gateway(client, prefix) as sender:
        start(tab, sender)
        assert opened(tab, "minutes", tag="0" * 64).startswith("Refused: the survey has another tag")
        above = "Refused: a report spends 1 between some two values, above maxEpsilon 0.9"
        assert opened(tab, "minutes", maxEpsilon=0.9) == above
        Registry(client, prefix).add(load(SURVEYS / "meeting-place.toml"))  # its epsilon is per cell of distance
        above = "Refused: a report spends 19 between some two values, above maxEpsilon 0.5"
        assert opened(tab, "meeting-place", maxEpsilon=0.5) == above
        assert opened(tab, "meeting-place", maxEpsilon=19) == "opened"
        assert opened(tab, "pairs").startswith("Refused: values of kind key-value")
        assert opened(tab, "nobody") == "Refused: no survey of this name is registered"
        assert opened(tab, "minutes") == "opened"
        assert tab.run("device.submit(60).catch(String)") == "RangeError: value is no value of the survey"
        Registry(client, prefix).close("likes")
        assert opened(tab, "likes") == "opened"
        assert tab.run("device.submit('a').catch(String)") == "Refused: closed"
        assert tab.run("device.spent()") == [], "nothing was drawn"
        assert tab.run(
            "hearsay.Device.open('http://example.com', 'minutes').catch((error) => error.message)"
        ).startswith("use https")


def test_ten_lines_of_html(client: redis.Redis, prefix: str, tab: Tab) -> None:
    registered = Registry(client, prefix).add(load(SURVEYS / "session-minutes.toml"))
    page = (Path(__file__).parents[3] / "examples" / "browser" / "page.html").read_text(encoding="utf-8")

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *arguments: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as site:
        Thread(target=site.serve_forever, daemon=True).start()
        origin = f"http://127.0.0.1:{site.server_port}"
        with gateway(client, prefix, origins=(origin,)) as sender:
            page = page.replace("http://127.0.0.1:8788", str(sender.base_url).rstrip("/"))
            tab.call("Page.navigate", url=origin)
            tab.wait("document.getElementById('send')?.onclick")
            for answer in ("sent", "BudgetSpent: answered already"):
                tab.run("document.getElementById('send').click()")
                tab.wait(f"document.getElementById('answer').textContent === {json.dumps(answer)}")
        site.shutdown()
    assert client.xlen(registered.shards[0].keys.stream) == 1
