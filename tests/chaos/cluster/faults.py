"""The faults of a storm on a cluster: what happens to masters, replicas, slots and shards beside the processes.

RQ's own server is the pipeline's `server`; the reports are on the cluster, each master with one replica.
"""

import os
import random
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import redis

from hearsay.collector.growth import set_shards
from hearsay.collector.store.shard import Shard
from hearsay.collector.survey.placement import slot
from hearsay.ops.server.embedded import EmbeddedServer
from tests.chaos.faults import LOST_TAIL_S, Fault, ProcessFaults, address_of
from tests.cluster import QUEUE_URL, EmbeddedCluster, behind, frozen, until

PATIENCE_S = 90.0  # until a busy machine's cluster is well again
BEHIND_S = 0.5
BLINK_S = 1.0  # shorter than what makes the others take a node for dead
REPAIRED_S = 5.0  # a gateway that lives has sent again what a server lost
RESEND_S = 10.0  # for so long a gateway keeps what it stored
MOST_SHARDS = 8


class Pair(NamedTuple):
    """A master and its replica, as they are now."""

    master: EmbeddedServer
    replica: EmbeddedServer


class ClusterFaults(ProcessFaults):
    """The pipeline with two of every process, on three masters with a replica each."""

    durable = "replica"
    longest_s = 20.0  # a fault waits until all nodes are well

    def __init__(self, cluster: EmbeddedCluster, queue: EmbeddedServer, directory: Path, choice: random.Random) -> None:
        super().__init__(queue, directory, choice)
        self.cluster, self._gateway_died = cluster, 0.0

    @property
    def url(self) -> str:
        return self.cluster.url

    def environment(self) -> dict[str, str]:
        return {**super().environment(), QUEUE_URL: self.server.url}

    def often(self) -> list[tuple[Fault, int]]:
        return [
            *super().often(), (self.kill_queue, 1), (self.kill_master, 2), (self.fail_over, 3),
            (self.fail_over_to_one_behind, 3), (self.freeze_briefly, 2), (self.freeze_until_replaced, 3),
            (self.fail_over_by_command, 3), (self.kill_replica, 2), (self.lose_tail, 2), (self.restart_master, 2),
            (self.move_slot, 6), (self.change_shards, 6),
        ]  # fmt: skip

    def _kill(self, *roles: str) -> None:
        if any(role.startswith("gateway") for role in roles):
            self._gateway_died = time.monotonic()
        super()._kill(*roles)

    def kill_queue(self) -> str | None:
        self.server.kill()
        time.sleep(self.choice.random() * 0.3)
        self.server.start()
        return "kill -9 of the queue's server"

    def kill_master(self) -> str | None:
        """It is back before the others miss it."""
        master = self._pair().master
        master.kill()
        master.start()
        return "kill -9 of a master, back at once"

    def kill_replica(self) -> str | None:
        replica = self._pair().replica
        replica.kill()
        time.sleep(self.choice.random())
        replica.start()
        return "kill -9 of a replica"

    def restart_master(self) -> str | None:
        self._pair().master.restart()
        return "a master restarted in good order"

    def fail_over(self) -> str | None:
        """A master dies, its replica takes over, and it comes back as the replica of that one."""
        pair = self._pair()
        pair.master.kill()
        self._wait_until_replaced(pair)
        pair.master.start()
        return "kill -9 of a master, failover to its replica"

    def fail_over_to_one_behind(self) -> str | None:
        """The replica has not heard of the last moment when its master dies."""
        pair = self._pair()
        with behind(pair.replica, pair.master):
            time.sleep(BEHIND_S)
            pair.master.kill()
        self._wait_until_replaced(pair)
        pair.master.start()
        return "kill -9 of a master, failover to a replica that was behind"

    def freeze_briefly(self) -> str | None:
        with frozen(self._pair().master):
            time.sleep(BLINK_S)
        return "a master frozen for a second"

    def freeze_until_replaced(self) -> str | None:
        """It wakes up and believes for a moment that it is the master still."""
        pair = self._pair()
        with frozen(pair.master):
            self._wait_until_replaced(pair)
        return "a master frozen until its replica took over"

    def fail_over_by_command(self) -> str | None:
        """With the master's help, or without asking anybody."""
        pair, how = self._pair(), self.choice.choice([(), ("TAKEOVER",)])
        self.cluster.ask(pair.replica, "CLUSTER", "FAILOVER", *how)
        self._wait_until_replaced(pair)
        return "failover by command" + (", without asking the master" if how else "")

    def lose_tail(self) -> str | None:
        """A master comes back with the log of half a second ago, before its replica takes over.

        What it loses a gateway sends again, if that lives: a replica is no copy of what its master has forgotten.
        """
        if time.monotonic() < self._gateway_died + RESEND_S:
            return None
        self.forgets = True
        master = self._pair().master
        self.cluster.ask(master, "CONFIG", "SET", "appendfsync", "no")
        logs = {log: log.stat().st_size for log in master.aof_directory.glob("*.incr.aof")}
        time.sleep(LOST_TAIL_S)
        master.kill()
        for log, size in logs.items():
            if log.exists():
                os.truncate(log, min(size, log.stat().st_size))
        master.start()
        time.sleep(REPAIRED_S)
        return "kill -9 of a master, which loses its last half second"

    def move_slot(self) -> str | None:
        """All that a shard has goes to another master, under load."""
        shard = self._some_shard()
        number = slot(shard.survey.name, shard.survey.tag8, shard.shard)
        holders = [pair.master for pair in self._pairs()]
        (source,) = [node for node in holders if self._holds(node, number)]
        target = self.choice.choice([node for node in holders if node is not source])
        self.struck |= {address_of(source), address_of(target)}
        identity = self.cluster.ask(target, "CLUSTER", "MYID").decode()
        self.cluster.ask(source, "CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", number, number, "NODE", identity)
        until(lambda: self._holds(target, number), PATIENCE_S)
        return "a shard's slot moved to another master"

    def change_shards(self) -> str | None:
        """Of a survey without rounds: shards are added and retired while reports come in."""
        registered = self.registered(self.choice.choice(["buckets", "road"]))
        assert self.registry is not None
        wanted = self.choice.choice([n for n in range(1, MOST_SHARDS + 1) if n != len(registered.active)])
        set_shards(self.registry, registered.survey.name, wanted)
        return "shards added" if wanted > len(registered.active) else "shards retired"

    def _some_shard(self) -> Shard:
        name = self.choice.choice(["buckets", "road", self.rounds.survey.name])
        return self.choice.choice(self.registered(name).shards)

    def _holds(self, node: EmbeddedServer, number: int) -> bool:
        """Whether a node says that a slot is its own."""
        mine = self.cluster.ask(node, "CLUSTER", "MYID")
        for first, last, (_, _, identity, *_), *_ in self.cluster.ask(node, "CLUSTER", "SLOTS"):
            if first <= number <= last:
                return bool(identity == mine)
        return False

    def _pair(self) -> Pair:
        pair = self.choice.choice(self._pairs())
        self.struck |= set(map(address_of, pair))
        return pair

    def _pairs(self) -> list[Pair]:
        """Masters that hold slots with their replicas, once all of them are well: one fault at a time."""
        until(lambda: len(self._in_sync()) == len(self.cluster.masters), PATIENCE_S)
        return self._in_sync()

    def _in_sync(self) -> list[Pair]:
        """Masters whose replica has all that they have, by the master's port."""
        by_port, pairs = {node.port: node for node in self.cluster.nodes}, []
        with suppress(redis.exceptions.RedisError):
            if not all(self.cluster.sees_all_well(node) for node in self.cluster.nodes):
                return []
            for node in self.cluster.nodes:
                with redis.Redis.from_url(node.url) as client:
                    said = client.info("replication")
                if said["role"] == "slave" and said["master_link_status"] == "up":
                    pairs.append(Pair(by_port[int(said["master_port"])], node))
        return sorted(pairs, key=lambda pair: pair.master.port or 0)

    def _wait_until_replaced(self, pair: Pair) -> None:
        self.forgets = True

        def is_master() -> bool:
            with redis.Redis.from_url(pair.replica.url) as client:
                return bool(client.info("replication")["role"] == "master")

        until(is_master, PATIENCE_S)
