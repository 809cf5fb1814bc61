"""Lost reports of a storm: who published them, which fault took them, and whether the guarantees allow it.

docs/explanation/guarantees.md allows one loss: a server forgets its last moment (a replica that was behind takes over,
or a log has lost its tail), and the writer, who was promised the server's memory only, ended before it could ask
whether the server has everything.
"""

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.chaos.losses.journal import STORED, Line, read_journal

MOMENT_S = 1.0  # what a server may have forgotten from before a fault began


class Happened(NamedTuple):
    """A fault: what, from when until when, at which servers, and whether these may forget their last moment."""

    name: str
    began: float
    ended: float
    nodes: frozenset[str] = frozenset()
    forgets: bool = False


class Story(NamedTuple):
    """What lost reports have in common."""

    survey: str
    shard: int
    node: str
    process: int
    fault: Happened | None
    reason: str
    allowed: bool


class Loss(NamedTuple):
    """Reports with the same story, and from when until when they were said to be stored."""

    story: Story
    reports: int
    first: float
    last: float

    def __str__(self) -> str:
        survey, shard, node, process, fault, reason, _ = self.story
        what = "no fault of that server" if fault is None else f"{fault.name}, {_span(fault.began, fault.ended)}"
        return (
            f"{self.reports} reports of {survey}, stored by process {process} in shard {shard} on {node}, "
            f"{_span(self.first, self.last)}; {what}; {reason}"
        )


def explain(
    lost: Mapping[str, Iterable[int]], folder: Path, faults: Collection[Happened], promised: Collection[str] = ()
) -> list[Loss]:
    """The stories of lost values, by survey. `promised`: surveys whose writers were promised more than memory."""
    wanted = {survey: set(values) for survey, values in lost.items()}
    told: dict[tuple[str, int], Line] = {}  # by survey and value: where a server said last that it has it
    contacts: dict[tuple[int, str, int], float] = {}  # the last answer, by process and shard
    ended: dict[int, float] = {}  # what each process wrote last
    for line in sorted(read_journal(folder)):
        ended[line.process] = line.at
        if line.answer:
            contacts[line.process, line.survey, line.shard] = line.at
        if line.answer in STORED:
            for value in wanted.get(line.survey, set()).intersection(line.values):
                told[line.survey, value] = line
    times: dict[Story, list[float]] = defaultdict(list)
    for survey, values in wanted.items():
        for value in values:
            line = told.get((survey, value))
            if line is None:
                never = Story(survey, -1, "no server", 0, None, "no server said that it has them", False)
                times[never].append(0.0)
                continue
            spoke = contacts[line.process, line.survey, line.shard]
            story = _story(line, spoke, ended[line.process], faults)
            times[story._replace(allowed=story.allowed and survey not in promised)].append(line.at)
    return [Loss(story, len(found), min(found), max(found)) for story, found in times.items()]


def _story(line: Line, spoke: float, ended: float, faults: Iterable[Happened]) -> Story:
    near = [each for each in faults if line.node in each.nodes and each.began - MOMENT_S <= line.at <= each.ended]
    fault = max(near, key=lambda each: (each.forgets, each.began), default=None)
    if fault is None or not fault.forgets:
        reason, allowed = "nothing allows it", False
    elif spoke > fault.ended:
        reason, allowed = f"its writer spoke to the shard again at {_clock(spoke)}", False
    else:
        reason, allowed = f"its writer never spoke to the shard again, and sent its last at {_clock(ended)}", True
    return Story(line.survey, line.shard, line.node, line.process, fault, reason, allowed)


def _span(first: float, last: float) -> str:
    return f"{_clock(first)} to {_clock(last)}"


def _clock(at: float) -> str:
    return time.strftime("%H:%M:%S", time.gmtime(at)) + f".{int(at % 1 * 10)}"
