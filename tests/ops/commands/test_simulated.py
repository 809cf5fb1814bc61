"""Simulated reports are marked wherever answers are shown, and do not mix with real ones unasked."""

import json
import os
import re
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
import redis

from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.writer import Writer
from hearsay.estimator.materialise import Materialiser
from hearsay.ops.pages.docs import DOCS
from hearsay.producer.device import Device
from hearsay.workers.context import Context, set_current
from tests.pipeline import fold_all

Hearsay = Callable[..., tuple[int, str, str]]
AGES = {"name": "ages", "mechanism": "haar", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 64}}


@pytest.fixture
def registry(client: redis.Redis, prefix: str) -> Registry:
    set_current(Context(client, prefix))
    registry = Registry(client, prefix)
    registry.add(parse(AGES), shards=2)
    return registry


def publish_real(registry: Registry, count: int) -> None:
    registered = registry.get("ages")
    reports = [(b"r", Device(registered.survey).report(5)) for _ in range(count)]
    Writer(registered.shards[1]).publish(reports, count)


def snapshot(registry: Registry, folder: Path) -> dict[str, object]:
    for shard in registry.get("ages").shards:
        fold_all(shard)
    Materialiser(registry, folder).run_once()
    document: dict[str, object] = json.loads((folder / "ages" / "all" / "snapshot.json").read_text())
    jsonschema.validate(document, json.loads((DOCS / "snapshot.schema.json").read_text()))
    return document


def test_simulated_reports_are_counted_and_told(registry: Registry, hearsay: Hearsay, tmp_path: Path) -> None:
    code, _, _ = hearsay("produce", "ages", "--devices", "3e2", "--single")
    assert code == 0
    assert hearsay("produce", "ages", "--devices", "100")[0] == 0  # more simulated ones mix with nobody's
    assert snapshot(registry, tmp_path)["simulated"] is True
    rows = json.loads(hearsay("status", "--interval", "0", "--json")[1])
    assert [row["simulated_reports"] for row in rows] == [row["published_reports"] for row in rows] == [200, 200]
    assert "400 simulated" in hearsay("status", "--interval", "0")[1]
    assert "simulated  200 reports of them" in hearsay("status", "ages", "--interval", "0")[1]


def test_real_reports_are_not_marked_and_not_mixed(registry: Registry, hearsay: Hearsay, tmp_path: Path) -> None:
    publish_real(registry, 7)
    assert "simulated" not in snapshot(registry, tmp_path)
    assert "simulated" not in hearsay("status", "--interval", "0")[1]
    code, _, err = hearsay("produce", "ages", "--devices", "100")
    assert code == 2
    assert "survey ages has 7 reports not simulated" in err
    assert registry.get("ages").look().published_reports == 7
    assert hearsay("produce", "ages", "--devices", "100", "--into-real")[0] == 0
    assert registry.get("ages").look().simulated_reports == 100
    assert snapshot(registry, tmp_path)["simulated"] is True


def test_a_repeated_batch_counts_once(registry: Registry) -> None:
    shard = registry.get("ages").shards[0]
    writer = Writer(shard, simulated=True)
    writer.publish([(b"r", Device(shard.survey).report(5))], 1)
    writer.check()
    assert shard.look().simulated_reports == shard.look().published_reports == 1


def test_an_interrupt_says_how_many_went_out(registry: Registry, hearsay: Hearsay) -> None:
    threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    code, out, _ = hearsay("produce", "ages", "--devices", "1e6", "--rate", "1000")
    assert code == 130
    told = re.match(r"([\d,]+) reports published to ages .*stopped; 1,000,000 devices were asked for", out)
    assert told is not None
    assert int(told[1].replace(",", "")) == registry.get("ages").look().published_reports > 0


def test_a_simulated_snapshot_says_so(tmp_path: Path, hearsay: Hearsay) -> None:
    survey = 'name = "ages"\nmechanism = "haar"\nepsilon = 1.0\n[domain]\nkind = "ordinal"\nsize = 64\n'
    (tmp_path / "ages.toml").write_text(survey)
    words = ("simulate", str(tmp_path / "ages.toml"), "--out", str(tmp_path / "out"), "--json")
    assert json.loads(hearsay(*words, "--distribution", "zipf", "--devices", "50")[1])["simulated"] is True
    (tmp_path / "people.csv").write_text("value\n3\n")
    assert "simulated" not in json.loads(hearsay(*words, "--values", str(tmp_path / "people.csv"))[1])
