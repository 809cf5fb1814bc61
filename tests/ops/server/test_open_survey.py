"""`open_survey` finds a survey where the command line would."""

import pytest

from hearsay import UnknownSurvey, open_survey
from hearsay.collector.store.connect import Client
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.ops.server.embedded import EmbeddedServer

LIKES = {"name": "likes", "mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "binary"}}


def test_the_name_is_enough(
    server: EmbeddedServer, client: Client, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Registry(client, prefix).add(parse(LIKES))
    monkeypatch.setenv("HEARSAY_REDIS_URL", server.url)
    monkeypatch.setenv("HEARSAY_PREFIX", prefix)
    with open_survey("likes") as opened:
        assert opened.survey.name == "likes"


def test_url_and_prefix_win_over_the_environment(
    server: EmbeddedServer, client: Client, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Registry(client, prefix).add(parse(LIKES))
    monkeypatch.setenv("HEARSAY_REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("HEARSAY_PREFIX", "elsewhere")
    for words in (("likes", server.url), (server.url, "likes")):
        with open_survey(*words, prefix=prefix) as opened:
            assert opened.survey.name == "likes"


def test_the_error_says_where_it_was_looked_for(server: EmbeddedServer, client: Client, prefix: str) -> None:
    Registry(client, prefix).add(parse(LIKES))
    with pytest.raises(UnknownSurvey) as refused:
        open_survey("likes", server.url, "other")
    assert "hearsay survey list --prefix other shows those that are; looked for on redis://" in str(refused.value)
    assert "with the prefix other" in str(refused.value)
