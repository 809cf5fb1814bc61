"""Questions to many nodes: one call for each, all side by side, and one that hangs holds up no other."""

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import redis

from hearsay.collector.store import node as nodes
from hearsay.collector.store.node import Call, Command, Node, NodeAway, ask
from hearsay.collector.store.registry import Registry
from hearsay.collector.store.servers.slot import Slot
from hearsay.collector.survey.survey import parse
from hearsay.estimator import attention
from hearsay.estimator.attention import Attention
from tests.identity import survey_table
from tests.pipeline import queue_of
from tests.walk import Walk


class Hanging(Node):
    """A node that answers nothing until it is released."""

    def __init__(self) -> None:
        super().__init__(redis.Redis(port=1), address="hanging")  # type: ignore[arg-type]
        self.released = threading.Event()

    def many(self, calls: Sequence[Call | Command], raise_errors: bool = True) -> list[Any]:
        assert self.released.wait(30)
        return [None] * len(calls)


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hanging]:
    monkeypatch.setattr(nodes, "PATIENCE_S", 0.05)
    node = Hanging()
    yield node
    node.released.set()


def on_one_server(client: redis.Redis) -> Node:
    return Node(queue_of(client))  # type: ignore[arg-type]


def test_answers_come_in_the_order_of_the_questions_with_one_call_for_each_node(client: redis.Redis) -> None:
    one, other = on_one_server(client), on_one_server(client)
    one.ping()  # connects
    walk = Walk()
    with walk.traced():
        answers = ask([(one, Command(("ECHO", str(number)))) for number in range(4)])
    assert answers == [b"0", b"1", b"2", b"3"]
    assert walk.trips == 1
    questions = [(node, Command(("ECHO", text))) for node, text in ((one, "a"), (other, "b"), (one, "c"), (other, "d"))]
    assert ask(questions) == [b"a", b"b", b"c", b"d"]
    assert ask([]) == []


def test_an_error_stands_in_the_place_of_its_answer(client: redis.Redis) -> None:
    away = Node(redis.Redis(port=1))  # type: ignore[arg-type]
    wrong, echo = Command(("ECHO",)), Command(("ECHO", "well"))
    node = on_one_server(client)
    first, second, third = ask([(node, wrong), (away, echo), (node, echo)])
    assert isinstance(first, redis.exceptions.ResponseError)
    assert isinstance(second, redis.exceptions.ConnectionError)
    assert third == b"well"


def test_a_node_that_hangs_is_given_up(client: redis.Redis, hanging: Hanging) -> None:
    echo = Command(("ECHO", "well"))
    answer, nothing = ask([(on_one_server(client), echo), (hanging, echo)])
    assert answer == b"well"
    assert isinstance(nothing, NodeAway)


def test_a_survey_that_sleeps_on_a_node_that_hangs_holds_up_no_other(
    client: redis.Redis, prefix: str, hanging: Hanging
) -> None:
    registry, now = Registry(client, prefix), [1_000.0]
    surveys = [registry.add(parse(survey_table("identity", 4, name=f"s{number}"))) for number in range(2)]
    watched = Attention(lambda: now[0])
    watched.due(surveys)
    for registered in surveys:
        watched.looked(registered.look(), busy=False)
    now[0] += attention.ASLEEP_AFTER_S + 0.1
    surveys[1].shards[0].slot = Slot(hanging)
    assert watched.due(surveys) == [surveys[1]]  # a look then says that it does not answer
