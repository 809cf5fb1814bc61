"""Deployments that share a data directory neither overwrite nor remove each other's snapshots."""

from pathlib import Path

import pytest
import redis

from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.estimator.errors import SnapshotError
from hearsay.estimator.materialise import Materialiser
from hearsay.estimator.snapshots.files import Owner, is_anothers, own, owned, windows
from hearsay.estimator.snapshots.loading import load
from hearsay.ops.operate.forgetting import remove_snapshots
from hearsay.workers.context import Context, set_current
from tests.estimator.surveys import colours, deliver
from tests.pipeline import fold_all, singles, watched

SURVEY = {"name": "colours", "mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 3}}
FIRST = Owner("127.0.0.1:6399/0 hs", "b1")


def test_a_folder_is_kept_by_who_has_it(tmp_path: Path) -> None:
    own(tmp_path, "colours", FIRST)
    again = FIRST._replace(birth="b2")  # a server that lost everything; then it is reached by another name
    for same in (FIRST, again, Owner("localhost:6399/0 hs", "b2"), again):
        own(tmp_path, "colours", same)
        assert owned(tmp_path, same.deployment) == ["colours"]
    other = Owner("127.0.0.1:6399/0 other", "b3")
    assert is_anothers(tmp_path, "colours", other)
    assert not is_anothers(tmp_path, "fruit", other)
    with pytest.raises(SnapshotError, match=r"are those of another deployment \(127.0.0.1:6399/0 hs\); give each"):
        own(tmp_path, "colours", other)
    assert owned(tmp_path, FIRST.deployment) == ["colours"]


def test_one_survey_under_two_prefixes_in_one_directory(client: redis.Redis, prefix: str, tmp_path: Path) -> None:
    first, second = (_reported(client, f"{prefix}{number}", number) for number in (1, 2))
    Materialiser(first[0], tmp_path).run_once()
    late = Materialiser(second[0], tmp_path)
    assert late.run_once().failed == 1
    assert late.failures["colours"] == 1
    assert load(tmp_path / "colours" / "all").reports == 1
    registry, registered = second
    owner = Owner(registry.deployment, registered.look().birth)
    assert remove_snapshots("colours", tmp_path, (), owner) == []
    assert load(tmp_path / "colours" / "all").reports == 1
    owner = Owner(first[0].deployment, first[1].look().birth)
    assert remove_snapshots("colours", tmp_path, (), owner) == []
    assert not (tmp_path / "colours").exists()


def test_what_one_deployment_keeps_no_longer_the_other_may_keep(
    client: redis.Redis, prefix: str, tmp_path: Path
) -> None:
    kept, old_ms = [], 0
    for number, retain in ((1, {}), (2, {"retain": "2h"})):
        set_current(Context(client, f"{prefix}{number}"))
        registry = Registry(client, f"{prefix}{number}")
        registered = registry.add(colours(window={"every": "1h", **retain}))
        old_ms = old_ms or registered.shards[0].now_ms() - 5 * 3_600_000
        deliver(registered, 50, at_ms=old_ms)
        watched(client, registered.shards[0], 4 * 3_600)
        done = Materialiser(registry, tmp_path).run_once()
        kept.append((done.purged, len(registered.look().windows), len(windows(tmp_path, "colours"))))
    assert kept == [(0, 1, 1), (1, 0, 1)]


def _reported(client: redis.Redis, prefix: str, reports: int) -> tuple[Registry, Registered]:
    set_current(Context(client, prefix))
    registry = Registry(client, prefix)
    registered = registry.add(parse(SURVEY))
    store = registered.shards[0]
    Writer(store).publish(singles(store, [0] * reports), reports)
    fold_all(store)
    return registry, registered


def test_a_note_that_a_full_disk_cut_off_is_nobodys(tmp_path: Path) -> None:
    mine = Owner("here", "1")
    own(tmp_path, "buckets", mine)
    (note,) = tmp_path.rglob("owner")
    whole = note.read_text(encoding="utf-8")
    for length in range(len(whole)):
        note.write_text(whole[:length], encoding="utf-8")
        assert not is_anothers(tmp_path, "buckets", mine)
        own(tmp_path, "buckets", mine)
        assert note.read_text(encoding="utf-8") == whole
