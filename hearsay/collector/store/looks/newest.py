"""The newest snapshot of many surveys, with one call for each node."""

import json
from collections.abc import Collection, Iterable
from typing import Any

from hearsay.collector.store.looks.survey_look import AWAY, SurveyLook
from hearsay.collector.store.node import Command, ask


def newest_snapshots(surveys: Iterable[SurveyLook], without: Collection[str] = ()) -> dict[str, dict[str, Any]]:
    """The snapshot of each survey's newest window, by the survey's name, if there is one.

    Surveys in `without` are left out: some of their shards could not be read.
    """
    windows = {
        seen.registered.shards[0]: seen.windows[-1].name
        for seen in surveys
        if seen.windows and seen.survey.name not in without
    }
    replies = ask(
        (shard.node, Command(("HGET", shard.keys.snapshot(window), "json"))) for shard, window in windows.items()
    )
    documents: dict[str, dict[str, Any]] = {}
    for shard, reply in zip(windows, replies, strict=True):
        if isinstance(reply, bytes):
            documents[shard.survey.name] = json.loads(reply)
        elif isinstance(reply, Exception) and not isinstance(reply, AWAY):
            raise reply
    return documents
