"""Rounds under clocks that jump, and a server that loses its last second while a round closes."""

import numpy as np
import pytest
import redis

from hearsay.collector.errors import ReportsLost, RoundClosed
from hearsay.collector.store import durability
from hearsay.collector.store.client import Client
from hearsay.collector.store.connect import connect
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import parse
from hearsay.collector.wire.codec import codec
from hearsay.collector.writer import Entry, Writer
from hearsay.estimator import rounds as driving
from hearsay.estimator.readings import live
from hearsay.estimator.rounds import RoundState, drive
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.server.embedded import EmbeddedServer
from hearsay.workers.context import Context, set_current
from tests.clock import turn_clocks
from tests.pipeline import Tail, fold_all, watched
from tests.rounds import rounds_table, two_rounds_known

__all__ = ["two_rounds_known"]
DAY_S = 86_400


def turns(client: Client, prefix: str, **rounds: object) -> Registered:
    set_current(Context(client, prefix))
    return Registry(client, prefix).add(parse(rounds_table(8, **rounds)))


def singles(registered: Registered, values: list[int], number: int) -> list[Entry]:
    mechanism = registered.survey.in_round(registered.look().rounds.history(number)).mechanism
    return [(b"r", each) for each in codec(mechanism).encode_singles(mechanism.perturb(np.array(values), seeded(1)))]


@pytest.mark.parametrize("jump_s", [-DAY_S, DAY_S])
def test_a_clock_that_jumps_neither_ends_a_round_nor_keeps_it_open(
    client: redis.Redis, prefix: str, monkeypatch: pytest.MonkeyPatch, jump_s: int
) -> None:
    clock = turn_clocks(monkeypatch, client)
    registered = turns(client, prefix, within="1h")
    store = registered.shards[0]
    store.trim()
    Writer(store).publish(singles(registered, [5, 5, 2], 1), 3, 1)
    clock.turn(jump_s)
    store.trim()  # a collector that looks on
    assert drive(registered) == RoundState(1, "open")
    watched(client, store, 3_590)
    assert drive(registered) == RoundState(1, "open")
    watched(client, store, 10)
    assert drive(registered) == RoundState(1, "draining")
    clock.turn(-jump_s)  # while it closes
    fold_all(store)
    assert drive(registered) == RoundState(2, "open")
    Writer(store).publish(singles(registered, [5, 2], 2), 2, 2)
    clock.turn(-DAY_S)
    watched(client, store, 3_600)
    drive(registered)
    fold_all(store)
    assert drive(registered) == RoundState(2, "over")
    state = live(registered).state
    assert (int(state["r1/hist"].sum()), int(state["r2/places"].sum())) == (3, 2)


def test_a_round_is_opened_when_the_end_of_the_last_one_is_on_disk(
    own_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durability, "DISK_WAIT_MS", 20)
    client = connect(own_server.url)
    registered = turns(client, "hs", reports=1)
    assert registered.shards[0].node.client.config_set("appendfsync", "no")  # a disk that takes its time
    Writer(registered.shards[0]).publish(singles(registered, [5], 1), 1, 1)
    drive(registered)
    fold_all(registered.shards[0])
    assert [drive(registered) for _ in range(3)] == [RoundState(1, "draining")] * 3
    client.config_set("appendfsync", "always")
    assert drive(registered) == RoundState(2, "open")


def test_a_server_without_a_log_is_not_waited_for(own_server: EmbeddedServer) -> None:
    client = connect(own_server.url)
    store = turns(client, "hs", reports=1).shards[0]
    client.config_set("appendonly", "no")
    assert store.is_kept()


class TestLostWithTheirRound:
    """The server loses what it had taken, and the round is over before the writer finds out."""

    def closed_behind_its_back(self, client: Client, prefix: str) -> tuple[Registered, Writer]:
        registered = turns(client, prefix, reports=100)
        store, writer = registered.shards[0], Writer(registered.shards[0])
        writer.publish(singles(registered, [5], 1), 1, 1)
        tail = Tail(client)
        writer.publish(singles(registered, [2, 2], 1), 2, 1)
        tail.lose()
        store.close_round(1)
        return registered, writer

    def test_later_ones_are_stored_once_and_the_loss_is_told(self, client: redis.Redis, prefix: str) -> None:
        registered, writer = self.closed_behind_its_back(client, prefix)
        store = registered.shards[0]
        store.open_round(2, {"chosen": [5, 2, 7, 0]})
        with pytest.raises(ReportsLost, match="lost 2 entries of turns that it had taken, and their rounds are over"):
            writer.publish(singles(registered, [5], 2), 1, 2)
        writer.publish(singles(registered, [7], 2), 1, 2)  # it goes on
        writer.close()
        fold_all(store)
        state = live(registered).state
        assert state["r1/hist"].tolist() == [0, 0, 0, 0, 0, 1, 0, 0]
        assert state["r2/places"].tolist() == [1, 0, 1, 0, 0]

    def test_what_comes_too_late_itself_is_counted_apart(self, client: redis.Redis, prefix: str) -> None:
        registered, writer = self.closed_behind_its_back(client, prefix)
        with pytest.raises(RoundClosed) as refused:
            writer.publish(singles(registered, [7, 7, 7], 1), 3, 1)
        assert (refused.value.number, refused.value.entries) == (1, 3)
        with pytest.raises(ReportsLost, match="lost 2 entries"):
            writer.close()
        fold_all(registered.shards[0])
        assert int(live(registered).state["r1/hist"].sum()) == 1


def test_nobody_drives_a_round_whose_survey_is_gone(client: redis.Redis, prefix: str) -> None:
    registered = turns(client, prefix, reports=1)
    Registry(client, prefix).delete("turns")
    assert driving.drive(registered) == RoundState(0, "over")
