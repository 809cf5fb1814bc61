"""The newest snapshot of many surveys, with one call for each node."""

import json
from collections.abc import Collection, Iterable
from typing import Any

from hearsay.collector.store.looks.survey_look import AWAY, SurveyLook, by_node
from hearsay.collector.store.node import Command


def newest_snapshots(surveys: Iterable[SurveyLook], without: Collection[str] = ()) -> dict[str, dict[str, Any]]:
    """The document of each survey's newest window, by the survey's name, where there is one.

    `without` names surveys that could not be looked at as a whole.
    """
    asked = {
        id(seen.registered.shards[0]): (seen.registered.shards[0], seen.windows[-1].name)
        for seen in surveys
        if seen.windows and seen.survey.name not in without
    }
    found: dict[str, dict[str, Any]] = {}
    for node, shards in by_node(shard for shard, _ in asked.values()):
        commands = [Command(("HGET", shard.keys.snapshot(asked[id(shard)][1]), "json")) for shard in shards]
        try:
            replies = node.many(commands)
        except AWAY:
            continue
        found |= {
            shard.survey.name: json.loads(document)
            for shard, document in zip(shards, replies, strict=True)
            if document is not None
        }
    return found
