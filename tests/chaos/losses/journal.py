"""What each process of a storm published and what it was answered: a plug-in without mechanisms.

A process that has it loaded writes a line for every call of PUBLISH that holds reports, once it is answered or failed.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hearsay.collector.store.shard import Published, Shard
from hearsay.collector.wire.codec import codec
from hearsay.collector.wire.decode import decode

MECHANISMS: dict[str, tuple[()]] = {}
FOLDER = "CHAOS_JOURNAL"  # in the environment: where the lines go
STORED = ("ok", "duplicate")  # answers by which a server says that it has a batch


class Line(NamedTuple):
    """One call of PUBLISH; `answer` is empty where none came."""

    at: float
    process: int
    survey: str
    shard: int
    node: str
    writer: str
    number: int
    answer: str
    values: list[int]


def keep_journal(folder: Path) -> None:
    """From now on this process writes down what it publishes; once is enough."""
    publish = Shard.publish
    if publish.__name__ == "noted":
        return
    path = folder / f"{os.getpid()}.journal"

    def noted(shard: Shard, writer: str, number: int, entries: Any, *words: Any, **more: Any) -> Published:
        node, answer = shard.node.address.partition("/")[0], ""
        try:
            published = publish(shard, writer, number, entries, *words, **more)
            answer = published.status
            return published
        finally:
            if entries:
                mechanism = shard.survey.mechanism
                reports = decode(mechanism, [{name: payload} for name, payload in entries], codec(mechanism)).reports
                line = Line(
                    time.time(), os.getpid(), shard.survey.name, shard.shard, node, writer, number, answer,
                    reports["value"].tolist(),
                )  # fmt: skip
                with path.open("a") as file:
                    file.write(json.dumps(line) + "\n")

    Shard.publish = noted  # type: ignore[method-assign]


def read_journal(folder: Path) -> Iterator[Line]:
    """All lines of all processes; one that was killed may have left half a line."""
    for path in sorted(folder.glob("*.journal")):
        for text in path.read_text().splitlines(keepends=True):
            if text.endswith("\n"):
                yield Line(*json.loads(text))


if FOLDER in os.environ:
    keep_journal(Path(os.environ[FOLDER]))
