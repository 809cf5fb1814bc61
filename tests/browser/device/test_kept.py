"""What becomes of a report that a page could not send: it waits, keeps its id or gets a new one, and says why."""

import time

import pytest
import redis

from hearsay.collector.store import api_keys
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import parse
from tests.browser.chromium import Tab, program
from tests.browser.device.page import elsewhere, offline, opened, start, submit
from tests.collector.gateway.running import gateway
from tests.estimator.running import wait_until

pytestmark = pytest.mark.skipif(program() is None, reason="no Chromium on this machine: install Debian's chromium")


def test_a_report_that_was_only_refused_gets_a_new_id(
    client: redis.Redis, prefix: str, surveys: dict[str, Registered], tab: Tab
) -> None:
    quiet = "globalThis.setTimeout = () => 0; globalThis.shift = 365; const now = Date.now;"
    clock = f"{quiet} Date.now = () => now() + shift * 864e5; 0"
    hear = (
        "globalThis.ids = []; globalThis.lose = false; const real = fetch; globalThis.fetch = async (url, options) => {"
        " if (options) ids.push(options.headers['Idempotency-Key']); const answer = await real(url, options);"
        " if (options && lose) throw Error('lost'); return answer; }; 0"
    )
    registry = Registry(client, prefix)
    _, key = api_keys.add(registry, "pages")
    other, _ = (
        registry.add(parse({**surveys["likes"].survey.canonical(), "name": name})) for name in ("other", "late")
    )
    with gateway(client, prefix, keys=True) as sender:
        start(tab, sender)
        tab.run(clock)
        tab.run(hear)
        assert opened(tab, "likes", key=key) == "opened"
        assert submit(tab, "a") == "kept"  # too early
        tab.run("shift = 0")
        assert list(tab.run("device.flush()").values()) == ["sent"]
        tab.run("shift = -2")
        assert opened(tab, "late", key=key) == "opened"
        assert submit(tab, "a") == "kept"  # too late
        tab.run("shift = 0")
        assert list(tab.run("device.flush()").values())[-1:] == ["sent"]
        assert opened(tab, "other") == "opened"
        assert submit(tab, "a") == "kept"  # no key
        tab.run("shift = 1.5")
        tab.run("device.flush()")
        tab.run("shift = 0; lose = true")
        assert opened(tab, "other", key=key) == "opened"
        tab.run("device.flush()")  # stored, and the answer is lost
        lost = tab.run("ids.at(-1)")
        tab.run("lose = false; device.key = undefined; shift = 0.6")
        tab.run("device.flush()")  # refused
        assert tab.run("ids.at(-1)") == lost, "a report that may be stored keeps its id"
        tab.run("shift = 1.1")
        assert tab.run("device.flush().then(() => ids.at(-1))") == lost
        left = "new Promise((done) => { outbox.count().onsuccess = (event) => done(event.target.result); })"
        assert tab.run(f"device.step(({{outbox}}) => {left})") == 0, "and is given up after a day"
    assert client.xlen(surveys["likes"].shards[0].keys.stream) == 1
    assert client.xlen(other.shards[0].keys.stream) == 1


def test_a_report_without_a_key_is_kept_until_there_is_one(
    client: redis.Redis, prefix: str, surveys: dict[str, Registered], tab: Tab
) -> None:
    _, key = api_keys.add(Registry(client, prefix), "pages")
    with gateway(client, prefix, keys=True) as sender:
        start(tab, sender)
        assert opened(tab, "likes") == "opened"
        assert submit(tab, "a") == "kept"
        assert tab.run("device.submit('a').catch(String)") == "BudgetSpent: answered already"
        assert client.xlen(surveys["likes"].shards[0].keys.stream) == 0
        assert opened(tab, "likes", key=key) == "opened"
        assert list(tab.run("device.flush()").values()) == ["sent"]
        assert client.xlen(surveys["likes"].shards[0].keys.stream) == 1


def test_a_page_that_is_opened_again_sends_what_was_kept(
    client: redis.Redis, prefix: str, surveys: dict[str, Registered], tab: Tab
) -> None:
    away = (
        "const real = fetch; globalThis.fetch = (url, options) =>"
        " options ? Promise.reject(Error('away')) : real(url); 0"
    )
    stream = surveys["likes"].shards[0].keys.stream
    with gateway(client, prefix) as sender:
        start(tab, sender)
        assert opened(tab, "likes") == "opened"
        tab.run(away)
        assert submit(tab, "a") == "kept"
        start(tab, sender)  # the page is closed and opened again, before it retries
        assert client.xlen(stream) == 0
        assert opened(tab, "likes") == "opened"
        wait_until(lambda: client.xlen(stream) == 1)
        assert submit(tab, "a") == "BudgetSpent"
        assert client.xlen(stream) == 1


def test_a_submit_that_is_refused_sends_what_was_kept(
    client: redis.Redis, prefix: str, surveys: dict[str, Registered], tab: Tab
) -> None:
    away = (
        "globalThis.away = true; const real = fetch; globalThis.fetch = (url, options) =>"
        " options && away ? Promise.reject(Error('away')) : real(url, options); 0"
    )
    stream = surveys["likes"].shards[0].keys.stream
    with gateway(client, prefix) as sender:
        start(tab, sender)
        tab.run(f"{away}; globalThis.setTimeout = () => 0; 0")  # no retry of its own
        assert opened(tab, "likes") == "opened"
        assert submit(tab, "a") == "kept"
        assert submit(tab, "a") == "BudgetSpent"
        assert client.xlen(stream) == 0
        tab.run("away = false")
        assert submit(tab, "a") == "BudgetSpent"
        assert client.xlen(stream) == 1


def test_the_console_shows_why_a_report_is_kept(
    client: redis.Redis, prefix: str, surveys: dict[str, Registered], tab: Tab
) -> None:
    api_keys.add(Registry(client, prefix), "pages")
    hear = "globalThis.heard = []; console.warn = (...words) => heard.push(words.join(' ')); 0"
    no_retry = "globalThis.setTimeout = () => 0; 0"
    with gateway(client, prefix, keys=True) as sender:
        start(tab, sender)
        tab.run(hear)
        tab.run(no_retry)
        assert opened(tab, "likes") == "opened"
        tab.run("device.flush()")  # after the one of `open`
        assert submit(tab, "a") == "kept"  # no key
        tab.run("globalThis.fetch = () => Promise.reject(new TypeError('Failed to fetch')); 0")
        tab.run("device.flush()")
        tab.run("globalThis.fetch = () => Promise.resolve(new Response('down', { status: 502 })); 0")
        tab.run("device.flush()")
        elsewhere(tab)
        offline(tab, True)
        tab.run("device.flush()")
        offline(tab, False)
        no_key, *others = tab.run("heard")[:4]
    assert no_key.startswith("kept: ")
    assert "key" in no_key
    assert others == ["kept: TypeError: Failed to fetch", "kept: 502", "kept: offline"]


def test_a_page_that_is_no_gateway_s_settles_nothing(
    client: redis.Redis, prefix: str, surveys: dict[str, Registered], tab: Tab
) -> None:
    portal = (
        "globalThis.setTimeout = () => 0; globalThis.shown = 200; const real = fetch; globalThis.fetch = (url, options)"
        " => options && shown ? Promise.resolve(new Response('portal', { status: shown })) : real(url, options); 0"
    )
    with gateway(client, prefix) as sender:
        start(tab, sender)
        tab.run(portal)
        assert opened(tab, "likes") == "opened"
        assert submit(tab, "a") == "kept"
        for status in (403, 404, 410, 413, 500):
            assert tab.run(f"shown = {status}; device.flush()") == {}
        assert list(tab.run("shown = 0; device.flush()").values()) == ["sent"]
    assert client.xlen(surveys["likes"].shards[0].keys.stream) == 1


def test_a_report_for_another_definition_waits_and_the_console_says_so(
    client: redis.Redis, prefix: str, surveys: dict[str, Registered], tab: Tab
) -> None:
    hear = "globalThis.heard = []; console.warn = (...words) => heard.push(words.join(' ')); setTimeout = () => 0; 0"
    registry = Registry(client, prefix)
    with gateway(client, prefix) as sender:
        start(tab, sender)
        tab.run(hear)
        assert opened(tab, "likes") == "opened"
        registry.delete("likes")
        assert submit(tab, "a") == "kept"
        other = registry.add(parse({**surveys["likes"].survey.canonical(), "epsilon": 1.0}))
        time.sleep(1.1)  # caches keep the description for one second
        assert opened(tab, "likes") == "opened"
        tab.run("device.flush()")
        assert "kept: made for another definition of the survey" in tab.run("heard")
    assert client.xlen(other.shards[0].keys.stream) == 0
