"""A lost report has a writer, a server and a fault, or nothing allows its loss."""

import json
from pathlib import Path

import pytest

from tests.chaos.losses.explained import Happened, explain
from tests.chaos.losses.journal import Line

NODE, OTHER = "127.0.0.1:7000", "127.0.0.1:7001"
FAILOVER = Happened("failover", 100.0, 104.0, frozenset({NODE}), forgets=True)
RESTART = Happened("restart", 100.0, 104.0, frozenset({NODE}))


def line(at: float, values: list[int], process: int = 1, node: str = NODE, answer: str = "ok") -> Line:
    return Line(at, process, "buckets", 0, node, "w", 1, answer, values)


@pytest.mark.parametrize(
    ("lines", "fault", "allowed", "words"),
    [
        ([line(100.5, [1, 2])], FAILOVER, True, "never spoke to the shard again, and sent its last at 00:01:40.5"),
        ([line(99.5, [1, 2]), line(99.6, [3])], FAILOVER, True, "2 reports of buckets, stored by process 1 in shard 0"),
        ([line(100.5, [1, 2]), line(105.0, [3])], FAILOVER, False, "spoke to the shard again at 00:01:45.0"),
        ([line(100.5, [1, 2]), line(105.0, [3], process=2)], FAILOVER, True, "never spoke"),
        ([line(100.5, [1, 2], node=OTHER)], FAILOVER, False, "no fault of that server; nothing allows it"),
        ([line(90.0, [1, 2])], FAILOVER, False, "nothing allows it"),
        ([line(100.5, [1, 2])], RESTART, False, "restart, 00:01:40.0 to 00:01:44.0; nothing allows it"),
        ([line(100.5, [1, 2], answer="")], FAILOVER, False, "no server said that it has them"),
    ],
)
def test_a_loss_is_allowed_where_a_server_forgot_it_after_its_writer_ended(
    tmp_path: Path, lines: list[Line], fault: Happened, allowed: bool, words: str
) -> None:
    (tmp_path / "1.journal").write_text("".join(json.dumps(each) + "\n" for each in lines) + "half a li")
    (loss,) = explain({"buckets": [1, 2]}, tmp_path, [fault])
    assert (loss.reports, loss.story.allowed) == (2, allowed)
    assert words in str(loss)
    assert not any(each.story.allowed for each in explain({"buckets": [1]}, tmp_path, [fault], promised=["buckets"]))
