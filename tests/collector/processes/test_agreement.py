"""A new form is written once every live reader knows it."""

import json
import math

import pytest
import redis

from hearsay.collector.agreement import UPGRADE_S, Agreement, agreed, check_stored, releases_differ
from hearsay.collector.dispatch.dispatcher import CollectorSettings, Dispatcher
from hearsay.collector.errors import TooOld
from hearsay.collector.health.troubles import troubles
from hearsay.collector.heartbeats import Heartbeat, alive
from hearsay.collector.store import keys
from hearsay.collector.store.processes.heartbeats import ProcessMark
from hearsay.collector.store.processes.versions import KNOWN, OLDEST, PREVIOUS, Forms, ProcessInfo, this_process
from hearsay.collector.store.registry import Registry
from hearsay.release import UNKNOWN, release
from tests.pipeline import queue_of


def everybody(**forms: Forms) -> list[ProcessMark]:
    return [
        ProcessMark(role, "one", 1, ProcessInfo("9", forms.get(role, KNOWN)))
        for role in ("collector", "worker", "estimator")
    ]


def test_what_all_know_is_written() -> None:
    assert agreed(everybody()) == KNOWN
    newer = Forms(*(form + 1 for form in KNOWN))
    assert agreed(everybody(worker=newer, estimator=newer)) == KNOWN  # this process writes what it knows itself


def test_one_old_reader_holds_back_what_it_reads() -> None:
    assert agreed(everybody(estimator=OLDEST)) == OLDEST._replace(jobs=KNOWN.jobs)  # it reads no jobs
    assert agreed(everybody(worker=OLDEST)) == OLDEST
    old = ProcessInfo("0.2.0", OLDEST)
    assert agreed([*everybody(), ProcessMark("worker", "two", 1, old)]) == OLDEST
    assert agreed([*everybody(), ProcessMark("gateway", "two", 1, old)]) == KNOWN  # it reads neither


def test_where_a_role_has_no_process_its_next_one_may_be_old() -> None:
    assert agreed([]) == OLDEST
    assert agreed(everybody()[:2]) == OLDEST._replace(jobs=KNOWN.jobs)


def test_heartbeats_of_releases_that_say_nothing_are_the_oldest(client: redis.Redis, prefix: str) -> None:
    registry = Registry(client, prefix)
    Heartbeat(registry, "worker", "new").beat()
    client.set(keys.old_heartbeat(prefix, "worker:old"), "1", ex=30)
    assert [(each.process, each.version) for each in alive(registry)] == [("new", release())]
    assert [(each.process, each.info.version) for each in registry.heartbeats.old_marks()] == [("old", UNKNOWN)]
    now = 0.0
    agreement = Agreement(registry, lambda: now)
    assert agreement.refresh().jobs == OLDEST.jobs
    client.delete(keys.old_heartbeat(prefix, "worker:old"))
    assert agreement.refresh().jobs == OLDEST.jobs  # asked now and then only
    now = 16.0
    assert agreement.refresh().jobs == KNOWN.jobs


@pytest.mark.parametrize(
    "text", [b"1", b"", b"[]", b'{"version": 1}', b'{"version": "3", "forms": {"jobs": "x"}}', b"\xff"]
)
def test_a_heartbeat_that_cannot_be_read_promises_nothing(text: bytes) -> None:
    assert ProcessInfo.parse(text) == ProcessInfo(UNKNOWN, OLDEST, math.inf)


def test_a_newer_release_may_say_more() -> None:
    table = json.loads(this_process(3.0).text())
    table["forms"]["snapshots"] = 4
    assert ProcessInfo.parse(json.dumps({**table, "place": "elsewhere"}).encode()) == this_process(3.0)
    del table["forms"]["deltas"]
    assert ProcessInfo.parse(json.dumps(table).encode()).forms == KNOWN._replace(deltas=OLDEST.deltas)


def test_what_is_written_is_noted_before(client: redis.Redis, prefix: str) -> None:
    registry = Registry(client, prefix)
    assert registry.stored_forms.get() == OLDEST
    for role in ("collector", "worker", "estimator"):
        Heartbeat(registry, role).beat()
    assert Agreement(registry).refresh() == KNOWN
    assert registry.stored_forms.get() == KNOWN._replace(jobs=OLDEST.jobs)
    registry.stored_forms.note(OLDEST)
    assert registry.stored_forms.get() == KNOWN._replace(jobs=OLDEST.jobs)  # what was written stays written


@pytest.mark.parametrize("kind", ["deltas", "accumulators"])
def test_a_process_too_old_for_what_is_stored_says_so(client: redis.Redis, prefix: str, kind: str) -> None:
    registry = Registry(client, prefix)
    check_stored(registry)
    newer = getattr(KNOWN, kind) + 1
    registry.stored_forms.note(KNOWN._replace(**{kind: newer}))
    with pytest.raises(
        TooOld, match=f"{kind} of layout {newer} are stored and this release .* install a newer release"
    ):
        check_stored(registry)


def test_a_collector_that_holds_layouts_holds_everybody_back(client: redis.Redis, prefix: str) -> None:
    registry = Registry(client, prefix)
    dispatcher = Dispatcher(client, queue_of(client), CollectorSettings(prefix, hold_layouts=True))
    dispatcher.heartbeat.beat()
    for role in ("worker", "estimator"):
        Heartbeat(registry, role).beat()
    assert Agreement(registry).refresh() == PREVIOUS._replace(jobs=KNOWN.jobs)
    assert dispatcher.agreement.refresh() == PREVIOUS  # it writes the jobs itself
    assert registry.stored_forms.get() == PREVIOUS._replace(jobs=OLDEST.jobs)


def test_releases_that_differ_for_ten_minutes_are_a_trouble(client: redis.Redis, prefix: str) -> None:
    def beat(process: str, version: str, up_s: float) -> None:
        registry.heartbeats.mark("worker", process, 30, ProcessInfo(version, KNOWN, up_s))

    registry = Registry(client, prefix)
    beat("one", "1.0", UPGRADE_S + 50)
    beat("two", "1.1", UPGRADE_S - 50)
    assert releases_differ(registry.heartbeats.marks()) is None  # an upgrade is under way
    beat("two", "1.1", UPGRADE_S + 1)
    (words,) = [each.words for each in troubles(registry) if each.code == "versions"]
    assert words == "processes of releases 1.0 and 1.1 run side by side: worker one 1.0, worker two 1.1"
    beat("one", "1.1", 5.0)
    assert releases_differ(registry.heartbeats.marks()) is None
