"""`hearsay survey next-round` and the round in `hearsay status`."""

import json
from collections.abc import Callable

import pytest
import redis

from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.ops.cli import run
from hearsay.ops.server.embedded import EmbeddedServer
from tests.identity import known_to_this_process, survey_table
from tests.rounds import rounds_table, two_rounds_known

__all__ = ["known_to_this_process", "two_rounds_known"]


@pytest.fixture
def hearsay(
    server: EmbeddedServer, prefix: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """A command's output, or what it says when it fails."""
    monkeypatch.setenv("HEARSAY_REDIS_URL", server.url)
    monkeypatch.setenv("HEARSAY_PREFIX", prefix)

    def call(*words: str) -> str:
        code = run(list(words))
        out, err = capsys.readouterr()
        return err if code else out

    return call


def test_rounds_by_hand(client: redis.Redis, prefix: str, hearsay: Callable[..., str]) -> None:
    Registry(client, prefix).add(parse(rounds_table(8)))
    (row,) = json.loads(hearsay("status", "--interval", "0", "--json"))
    assert (row["round"], row["round_open"]) == (1, True)
    assert "round 2 is open" in hearsay("survey", "next-round", "turns")
    (row,) = json.loads(hearsay("status", "--interval", "0", "--json"))
    assert (row["round"], row["round_open"]) == (2, True)
    assert "round 2 was the last one" in hearsay("survey", "next-round", "turns")
    assert json.loads(hearsay("survey", "next-round", "turns", "--json"))["state"] == "over"


def test_a_survey_without_rounds_has_no_next_one(client: redis.Redis, prefix: str, hearsay: Callable[..., str]) -> None:
    Registry(client, prefix).add(parse(survey_table("identity", 4)))
    assert "survey buckets has no rounds" in hearsay("survey", "next-round", "buckets")
