"""`hearsay survey next-round` and the round in `hearsay status`."""

import json
from collections.abc import Callable
from pathlib import Path

import redis

from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from tests.identity import known_to_this_process, survey_table
from tests.rounds import rounds_table, two_rounds_known

__all__ = ["known_to_this_process", "two_rounds_known"]
Hearsay = Callable[..., tuple[int, str, str]]


def test_rounds_by_hand(client: redis.Redis, prefix: str, hearsay: Hearsay) -> None:
    Registry(client, prefix).add(parse(rounds_table(8)))
    (row,) = json.loads(hearsay("status", "--interval", "0", "--json")[1])
    assert (row["round"], row["round_open"]) == (1, True)
    assert "round 1 open" in hearsay("status", "--interval", "0")[1]
    assert "round 2 is open" in hearsay("survey", "next-round", "turns")[1]
    (row,) = json.loads(hearsay("status", "--interval", "0", "--json")[1])
    assert (row["round"], row["round_open"]) == (2, True)
    assert "round 2 was the last one" in hearsay("survey", "next-round", "turns")[1]
    assert json.loads(hearsay("survey", "next-round", "turns", "--json")[1])["state"] == "over"


def test_a_survey_without_rounds_has_no_next_one(client: redis.Redis, prefix: str, hearsay: Hearsay) -> None:
    Registry(client, prefix).add(parse(survey_table("identity", 4)))
    code, _, complaint = hearsay("survey", "next-round", "buckets")
    assert (code, complaint) == (2, "hearsay: survey buckets has no rounds\n")


def test_survey_show_says_that_all_rounds_together_keep_the_promise(tmp_path: Path, hearsay: Hearsay) -> None:
    file = tmp_path / "films.toml"
    file.write_text('name = "films"\nmechanism = "privkvm"\nepsilon = 1.0\n[domain]\nkind = "key-value"\nkeys = 3\n')
    assert "It holds for a device's answers in up to 3 rounds together." in hearsay("survey", "show", str(file))[1]
    simulated = ("simulate", str(file), "--distribution", "zipf", "--devices", "20", "--out", str(tmp_path / "out"))
    assert "60 reports, one per device and round" in hearsay(*simulated)[1]
    assert (
        "60 reports, one per device and round" in hearsay("query", "--snapshot", str(tmp_path / "out"), "top", "1")[1]
    )
    file.write_text(file.read_text().replace("privkvm", "privkv"))
    assert "20 reports, privkv" in hearsay(*simulated)[1]
    assert "rounds together" not in hearsay("survey", "show", str(file))[1]
