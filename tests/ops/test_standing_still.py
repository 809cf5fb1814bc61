"""A pipeline that stands still must not look healthy; what is deleted is gone; what was refused is shown."""

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from hearsay.collector import limits
from hearsay.collector.growth import set_shards
from hearsay.collector.health import troubles
from hearsay.collector.heartbeats import Heartbeat
from hearsay.collector.roles import NEEDED
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.estimator.materialise import Materialiser
from hearsay.ops.operate import forgetting
from tests.identity import known_to_this_process, survey_table
from tests.pipeline import buckets, cut_all, fold_all, singles
from tests.rounds import rounds_table, two_rounds_known

__all__ = ["known_to_this_process", "two_rounds_known"]
Hearsay = Callable[..., tuple[int, str, str]]


@pytest.fixture
def at_work(client: redis.Redis, prefix: str) -> None:
    """All roles were seen lately."""
    for role in NEEDED:
        Heartbeat(Registry(client, prefix), role.name).beat()


@pytest.fixture
def registered(client: redis.Redis, prefix: str) -> Registered:
    return buckets(client, prefix, 100)


def publish(registered: Registered, count: int = 50) -> None:
    Writer(registered.shards[0]).publish(singles(registered.shards[0], range(count)), count)


def check(hearsay: Hearsay) -> tuple[int, str]:
    code, _, complaint = hearsay("status", "--interval", "0", "--check")
    return code, complaint


def test_all_is_well(hearsay: Hearsay, registered: Registered, at_work: None) -> None:
    publish(registered)
    fold_all(registered.shards[0])
    assert check(hearsay) == (0, "")


def test_a_server_without_surveys_needs_nobody(hearsay: Hearsay, client: redis.Redis) -> None:
    assert check(hearsay) == (0, "")


def test_missing_roles_are_named(hearsay: Hearsay, registered: Registered) -> None:
    code, complaint = check(hearsay)
    assert code == 1
    for role, command in (("collector", "collect"), ("worker", "work"), ("estimator", "estimate")):
        assert f"hearsay: no {role} was seen lately; start one with: hearsay {command}" in complaint.splitlines()
    code, out, _ = hearsay("status", "--interval", "0")
    assert code == 0
    assert "warning    no worker was seen lately" in out
    assert "at work    0 collectors, 0 workers, 0 estimators" in out


def test_a_quarantined_range_is_named_with_the_command_that_tries_it_again(
    hearsay: Hearsay, registered: Registered, at_work: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shard,) = registered.shards
    publish(registered)
    (stuck,) = cut_all(shard)
    monkeypatch.setattr(limits, "ATTEMPTS", 1)
    assert shard.reissue(stuck, 0.0)[0] == "quarantined"
    retry = f"hearsay survey skip {registered.survey.name} --retry"
    code, complaint = check(hearsay)
    assert code == 1
    assert "1 range failed 5 times and waits aside" in complaint
    assert complaint.endswith(f"the workers' logs say why, then: {retry}\n")
    assert hearsay(*retry.split()[1:])[0] == 0
    assert shard.status().quarantined == 0


def test_no_workers_is_trouble_though_the_backlog_is_empty(
    hearsay: Hearsay, registered: Registered, client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All is cut, so backlog and age are 0; what waits is in ranges that nobody folds."""
    for role in ("collector", "estimator"):
        Heartbeat(Registry(client, prefix), role).beat()
    monkeypatch.setattr(troubles, "ALONE_S", 0.0)
    publish(registered)
    cut_all(registered.shards[0])
    code, complaint = check(hearsay)
    assert code == 1
    assert "survey buckets: a range waits for 0 s to be folded, and no worker was seen lately" in complaint
    (row,) = json.loads(hearsay("status", "--interval", "0", "--json")[1])
    assert (row["backlog_entries"], row["waiting_reports"], row["outstanding"]) == (0, 50, 1)
    code, _, complaint = hearsay("query", "buckets", "top", "3")
    assert code == 2
    assert "no reports yet; 50 reports are waiting to be folded (see hearsay status)" in complaint


def test_workers_on_another_queue_are_found_out(
    hearsay: Hearsay, registered: Registered, at_work: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(registered)
    cut_all(registered.shards[0])
    assert check(hearsay)[0] == 0  # young enough
    monkeypatch.setattr(troubles, "OLD_RANGE_S", 0.0)
    code, complaint = check(hearsay)
    assert code == 1
    assert "to be folded; the workers' logs say whether it fails; if not" in complaint


def test_retired_shards_are_marked(hearsay: Hearsay, registered: Registered, client: redis.Redis, prefix: str) -> None:
    for number in (2, 1):
        set_shards(Registry(client, prefix), "buckets", number)
    shown = hearsay("status", "buckets", "--interval", "0")[1]
    assert shown.count("(retired)") == 1
    assert [row["retired"] for row in json.loads(hearsay("status", "--interval", "0", "--json")[1])] == [False, True]


def test_entries_that_nobody_cuts(
    hearsay: Hearsay, registered: Registered, at_work: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(troubles, "OLD_BACKLOG_S", 0.0)
    publish(registered)
    assert "entries wait for 0 s to be cut into ranges" in check(hearsay)[1]


def test_answers_say_what_they_do_not_know_yet(hearsay: Hearsay, registered: Registered) -> None:
    publish(registered)
    fold_all(registered.shards[0])
    publish(registered, 30)
    code, out, _ = hearsay("query", "buckets", "top", "3")
    assert code == 0
    assert "50 reports; 30 more are waiting to be folded" in " ".join(out.split())


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_status_can_be_read_at_any_width(
    hearsay: Hearsay, registered: Registered, at_work: None, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    publish(registered)
    Writer(registered.shards[0]).publish([(b"r", b"\xc1")], 1)
    _, out, _ = hearsay("status", "--interval", "0.01")
    assert all(len(line) <= 80 for line in out.splitlines())
    _, heading, _, line, *_ = out.splitlines()
    assert heading.split() == ["survey", "state", "published", "folded", "folded/s", "waiting"]
    assert line.split() == ["buckets", "open", "51", "0", "0", "51"], "one line for a survey"
    _, out, _ = hearsay("status", "buckets", "--interval", "0.01")
    assert all(len(line) <= 80 for line in out.splitlines())
    assert "published  51 reports, " in out
    assert "waiting    51 reports" in out


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_warnings_are_broken_where_the_terminal_ends(
    hearsay: Hearsay, client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """With five surveys, one of them with rounds and one with shards, on a server whose memory is short."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(troubles, "ALONE_S", 0.0)
    registry = Registry(client, prefix)
    for number in range(3):
        publish(registry.add(parse(survey_table("identity", 100, name=f"a-survey-with-a-rather-long-name-{number}"))))
    registry.add(parse(survey_table("identity", 100, name="sharded")), 2)
    registry.add(parse(rounds_table(8, reports=10)))
    _, out, _ = hearsay("status", "--interval", "0")
    assert max(map(len, out.splitlines())) <= columns
    assert all(name in out for name in [f"a-survey-with-a-rather-long-name-{number}" for number in range(3)])
    assert "open, round 1 open" in out
    _, named, _ = hearsay("status", "sharded", "turns", "--interval", "0")
    assert "turns  (two-rounds, tag " in named
    assert ", open, round 1 open)" in named
    assert named.count("(identity, tag ") == 2, "each shard"
    monkeypatch.delenv("COLUMNS")
    lines = hearsay("status", "--interval", "0")[1].splitlines()  # no terminal: a warning is a line
    words = "to be cut into ranges, and no collector was seen lately"
    assert sum(line.startswith("warning    survey a-survey-") and line.endswith(words) for line in lines) == 3


def test_programs_get_the_whole_tag_and_people_its_first_digits(
    hearsay: Hearsay, registered: Registered, client: redis.Redis
) -> None:
    tag = registered.survey.tag
    for words in (["survey", "list"], ["status", "buckets", "--interval", "0"]):
        (row,) = json.loads(hearsay(*words, "--json")[1])
        assert (row["tag"], row["whole_tag"]) == (tag[:8], tag)  # keys on the server have the first digits
        shown = hearsay(*words)[1]
        assert tag[:8] in shown
        assert tag[:9] not in shown


def test_no_survey_yet(hearsay: Hearsay, client: redis.Redis) -> None:
    assert "no survey yet; add one with: hearsay survey add FILE" in hearsay("status", "--interval", "0")[1]


def test_a_process_that_missed_a_beat_is_told_apart(
    hearsay: Hearsay, registered: Registered, client: redis.Redis, prefix: str
) -> None:
    registry = Registry(client, prefix)
    Heartbeat(registry, "worker", "alive").beat()
    registry.heartbeats.mark("worker", "dead", 5)  # 25 of its 30 seconds are gone
    _, out, _ = hearsay("status", "--interval", "0")
    assert "1 worker (1 not seen for 15 s)" in out
    Heartbeat(registry, "worker", "alive").stop()
    assert "0 workers (1 not seen for 15 s)" in hearsay("status", "--interval", "0")[1]


def test_the_last_collector_and_worker_are_missed_after_15_s(
    hearsay: Hearsay, registered: Registered, client: redis.Redis, prefix: str
) -> None:
    registry = Registry(client, prefix)
    for role in ("collector", "worker", "estimator"):
        registry.heartbeats.mark(role, "host-1", 14)  # 16 of its 30 seconds are gone
    complaint = hearsay("status", "--check", "--interval", "0")[2]
    assert "no collector was seen lately" in complaint
    assert "no worker was seen lately" in complaint
    assert "no estimator" not in complaint  # it beats between two passes, however long they take
    for role in ("collector", "worker"):
        registry.heartbeats.mark(role, "host-1", 16)
    assert hearsay("status", "--check", "--interval", "0")[0] == 0


def test_rejects_are_shown(hearsay: Hearsay, registered: Registered) -> None:
    store = registered.shards[0]
    Writer(store).publish([(b"r", b"\xc1"), (b"f", b"garbage"), *singles(store, [1])], 3)
    fold_all(store)
    found = json.loads(hearsay("survey", "rejects", "buckets", "--json")[1])
    assert found["rejected"]["not-msgpack"] == {"entries": 2, "reports": 1}
    assert sorted((letter["reason"], letter["length"]) for letter in found["letters"]) == [
        ("not-msgpack", 1),
        ("not-msgpack", 7),
    ]
    assert all(len(letter["sha256"]) == 64 and "payload" not in letter for letter in found["letters"])
    code, out, _ = hearsay("survey", "rejects", "buckets", "--limit", "1")
    assert code == 0
    assert "not-msgpack: 2 entries, 1 report" in out
    assert len(out.splitlines()) == 2
    assert "has rejected nothing" not in out


class TestDelete:
    def snapshots(self, registered: Registered, client: redis.Redis, prefix: str, root: Path) -> Materialiser:
        publish(registered)
        fold_all(registered.shards[0])
        materialiser = Materialiser(Registry(client, prefix), root)
        materialiser.run_once()
        assert (root / "buckets" / "all" / "snapshot.json").exists()
        return materialiser

    def test_from_another_folder_too(
        self, hearsay: Hearsay, registered: Registered, client: redis.Redis, prefix: str, tmp_path: Path
    ) -> None:
        self.snapshots(registered, client, prefix, tmp_path / "elsewhere")
        code, out, _ = hearsay("survey", "delete", "buckets", "--yes")
        assert (code, "is deleted" in out) == (0, True)
        assert not (tmp_path / "elsewhere" / "buckets").exists()

    def test_what_cannot_be_reached_is_named(
        self,
        hearsay: Hearsay,
        registered: Registered,
        client: redis.Redis,
        prefix: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        self.snapshots(registered, client, prefix, tmp_path / "there")
        host = socket.gethostname()
        monkeypatch.setattr(forgetting.socket, "gethostname", lambda: "another")
        code, _, complaint = hearsay("survey", "delete", "buckets", "--yes")
        assert code == 1
        assert f"could not be reached and are left in {host}:{tmp_path / 'there'}; an estimator" in complaint

    def test_an_estimator_removes_what_its_registry_no_longer_has(
        self, registered: Registered, client: redis.Redis, prefix: str, tmp_path: Path
    ) -> None:
        self.snapshots(registered, client, prefix, tmp_path)
        foreign = tmp_path / "foreign"  # of another deployment, and somebody's own folder
        (foreign / ".generations").mkdir(parents=True)
        (foreign / ".generations" / "owner").write_text("another server hs\nits birth\n")
        (tmp_path / "mine").mkdir()
        Registry(client, prefix).delete("buckets")
        Materialiser(Registry(client, prefix), tmp_path).run_once()
        assert not (tmp_path / "buckets").exists()
        assert foreign.exists()
        assert (tmp_path / "mine").exists()


@pytest.mark.usefixtures("at_work")
def test_a_server_that_begins_to_evict_is_a_trouble(registered: Registered, client: redis.Redis, prefix: str) -> None:
    registry = Registry(client, prefix)
    assert troubles.holding_all(registry) is None
    client.config_set("maxmemory-policy", "allkeys-lru")
    try:
        words = troubles.holding_all(registry)
    finally:
        client.config_set("maxmemory-policy", "noeviction")
    assert words == "server: maxmemory-policy is allkeys-lru, so that it may delete counts; set it to noeviction"
