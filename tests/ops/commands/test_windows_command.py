"""`hearsay survey windows`, `hearsay status NAME` and `--watch`."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from hearsay.collector.store.connect import Client
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.collector.writer import Writer
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.workers.context import Context, set_current
from tests.pipeline import fold_all

Hearsay = Callable[..., tuple[int, str, str]]
TABLE = {"name": "ages", "mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 8}}


def publish(client: Client, prefix: str, **more: object) -> None:
    set_current(Context(client, prefix))
    registered = Registry(client, prefix).add(parse({**TABLE, **more}))
    mechanism = registered.survey.mechanism
    payloads = codec(mechanism).encode_singles(mechanism.perturb([1, 2, 3] * 10, seeded(1)))
    Writer(registered.shards[0]).publish([(b"r", payload) for payload in payloads], 30)
    fold_all(registered.shards[0])


def test_windows_are_listed(hearsay: Hearsay, client: Client, prefix: str) -> None:
    publish(client, prefix, window={"every": "1d"})
    code, out, _ = hearsay("survey", "windows", "ages")
    assert code == 0
    title, heading, _, row = out.splitlines()
    assert title == "windows of ages"
    assert heading.split() == ["window", "from", "to", "folded", "rejected", "state"]
    assert row.split()[-3:] == ["30", "0", "open"]
    (table,) = json.loads(hearsay("survey", "windows", "ages", "--json")[1])
    assert hearsay("query", "ages", "top", "1", "--window", table["window"])[0] == 0


def test_a_survey_without_reports_has_no_windows(hearsay: Hearsay, client: Client, prefix: str) -> None:
    Registry(client, prefix).add(parse(TABLE))
    assert "has no report yet" in hearsay("survey", "windows", "ages")[1]
    assert hearsay("survey", "windows", "nobody")[0] == 2


def test_a_survey_whose_windows_are_deleted_says_so(hearsay: Hearsay, client: Client, prefix: str) -> None:
    publish(client, prefix, window={"every": "1d", "retain": "1d"})
    registered = Registry(client, prefix).get("ages")
    (window,) = registered.look().windows
    assert registered.shards[0].purge_window(window.name)
    assert hearsay("survey", "windows", "ages")[1] == (
        "survey ages keeps no window any more: all are older than its window.retain\n"
    )
    code, _, complaint = hearsay("query", "ages", "top", "1")
    assert code == 2
    assert complaint.endswith("survey ages keeps no window any more: all are older than its window.retain\n")


def test_status_of_one_survey(hearsay: Hearsay, client: Client, prefix: str) -> None:
    publish(client, prefix)
    Registry(client, prefix).add(parse({**TABLE, "name": "other"}))
    assert [row["survey"] for row in json.loads(hearsay("status", "ages", "--interval", "0", "--json")[1])] == ["ages"]
    assert "other" not in hearsay("status", "ages", "--interval", "0")[1]
    assert hearsay("status", "nobody", "--interval", "0")[0] == 2


def test_status_is_watched_until_interrupted(client: Client, prefix: str, hearsay: Hearsay, tmp_path: Path) -> None:
    publish(client, prefix)
    words = [sys.executable, "-m", "hearsay", "status", "--watch", "--interval", "0.1"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        seen = 0
        while seen < 3:
            seen += watching.stdout.readline().startswith("ages ")
        watching.terminate()
        watching.stdout.read()
        assert watching.wait(10) == 0
    assert hearsay("status", "--watch", "--json")[0] == 2
