"""A cluster: which node has each slot, as its nodes report it, and which nodes do not reply.

Slots move and nodes fail over at any time. `Node` sends a call that reached the wrong node to the right one; this
module has the map of slots. While a node does not reply, a thread reads the map from the others, and pings that node.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from redis.exceptions import AskError, RedisError

from hearsay.collector.errors import ServerError
from hearsay.collector.store.client import Client
from hearsay.collector.store.node import Node
from hearsay.collector.store.servers.slot import Slot
from hearsay.collector.store.servers.urls import Seed

_LOG = logging.getLogger("hearsay.servers")
SLOTS = 16_384
WATCH_S = 0.25  # between two probes of nodes that do not reply
COVERAGE = "cluster-require-full-coverage"
PROBE_S = 1.0  # time limit of a probe
_MAP = ("CLUSTER", "SLOTS")


class Cluster:
    """The nodes and their slots. `connect(seed, timeout_s)` makes a plain client of one node."""

    alone = False

    def __init__(self, seeds: Sequence[Seed], connect: Callable[[Seed, float | None], Client]) -> None:
        self.seeds, self._connect = tuple(seeds), connect
        self._lock = threading.Lock()
        self._nodes: dict[Seed, Node] = {}
        self._node_by_slot: list[Node | None] = [None] * SLOTS
        self._slots: dict[int, Slot] = {}  # those that were asked for
        self._holders: list[Node] | None = None  # the nodes of all slots; None: not computed yet
        self._lost: set[Node] = set()
        self._watching = False
        error: Exception | None = None
        for seed in self.seeds:
            try:
                self.teller = self._node(seed)  # a node that replies
                self._take_map(seed, self.teller.do(*_MAP))
                return
            except RedisError as failed:
                error = error or failed
        assert error is not None
        raise error

    @property
    def identity(self) -> str:
        """The nodes of the URL."""
        return ",".join(sorted(map(str, self.seeds)))

    def slot(self, number: int) -> Slot:
        with self._lock:
            if number not in self._slots:
                # For a slot that no node serves any node will do: it replies with an error.
                self._slots[number] = Slot(self._node_by_slot[number] or next(iter(self._nodes.values())))
            return self._slots[number]

    def nodes(self) -> Sequence[Node]:
        """Every master that has slots, sorted by address."""
        with self._lock:
            if self._holders is None:
                holders = {id(node): node for node in self._node_by_slot if node is not None}
                self._holders = sorted(holders.values(), key=lambda node: node.address)
            return self._holders

    def troubles(self) -> list[str]:
        """Ask whether all slots are served, and for the setting by which one lost node stops all; messages."""
        for node in self.nodes():
            if node.away:
                continue
            with suppress(RedisError):
                listed, served = [], int(_fields(node.do("CLUSTER", "INFO")).get("cluster_slots_assigned", SLOTS))
                if served < SLOTS:
                    listed.append(f"cluster: nobody serves {SLOTS - served} of {SLOTS} slots, whose shards wait")
                with suppress(RedisError):  # some users may not ask
                    setting = _fields(node.do("CONFIG", "GET", COVERAGE)).get(COVERAGE)
                    if setting == "yes":
                        listed.append(f"cluster: {COVERAGE} is yes, so that one lost node stops all; set it to no")
                return listed
        return []

    def disconnect(self) -> None:
        with self._lock:
            nodes = list(self._nodes.values())
            self._lost.clear()
        for node in nodes:
            node.disconnect()

    def follow(self, error: AskError) -> Node:
        """The node that a redirection names; MOVED also changes the map."""
        node = self._node(Seed(error.host, error.port))
        if type(error) is not AskError:
            with self._lock:
                self._put(error.slot_id, node)
        return node

    def lost(self, node: Node) -> None:
        """Note that a node does not reply, and probe it until it replies or another node has its slots."""
        with self._lock:
            if node not in self._nodes.values():  # it was replaced, and the caller still had the old one
                return
            self._lost.add(node)
            if self._watching:
                return
            self._watching = True
        _LOG.warning("node %s does not answer", node.address)
        threading.Thread(target=self._watch, name="hearsay-cluster", daemon=True).start()

    def _watch(self) -> None:
        while True:
            self._look_for_lost()
            with self._lock:
                if not self._lost:
                    self._watching = False
                    return
            time.sleep(WATCH_S)

    def _look_for_lost(self) -> None:
        """Read the map from a node that replies; remove lost nodes that reply again or have no slots any more."""
        with self._lock:
            lost, known = list(self._lost), list(self._nodes.values())
        for node in known:
            slots = None if node.away else self._probe(node, *_MAP)
            if slots is not None:
                self._take_map(self._seed(node), slots)
                break
        holders = {id(node) for node in self._node_by_slot}
        for node in lost:
            answers = self._probe(node, "PING") is not None
            if answers:
                node.back()
                _LOG.warning("node %s answers again", node.address)
            elif id(node) in holders:
                continue
            with self._lock:
                self._lost.discard(node)
                if not answers:  # it was replaced; if it replies again, it is a new node
                    self._nodes = {seed: each for seed, each in self._nodes.items() if each is not node}

    def _probe(self, node: Node, *words: str) -> Any:
        """The reply of a node, or None, over a separate connection: others may close those of the node."""
        client = self._connect(self._seed(node), PROBE_S)
        try:
            return client.execute_command(*words)
        except (RedisError, ServerError):  # also while it loads its data
            return None
        finally:
            client.close()

    def _take_map(self, asked: Seed, slots: Sequence[Any]) -> None:
        """Replace the map by the reply of the node `asked`."""
        holders: list[Node | None] = [None] * SLOTS
        for first, last, (host, port, *_), *_ in slots:
            node = self._node(Seed(_text(host) or asked.host, int(port)))
            holders[int(first) : int(last) + 1] = [node] * (int(last) - int(first) + 1)
        with self._lock:
            for slot, holder in enumerate(holders):
                self._put(slot, holder)

    def _put(self, slot: int, node: Node | None) -> None:
        """Note the node of a slot. A slot that no node serves keeps its last node."""
        self._node_by_slot[slot], self._holders = node, None
        if node is not None and slot in self._slots:
            self._slots[slot].node = node

    def _seed(self, node: Node) -> Seed:
        with self._lock:
            return next(seed for seed, each in self._nodes.items() if each is node)

    def _node(self, seed: Seed) -> Node:
        with self._lock:
            node = self._nodes.get(seed)
            if node is None:
                node = self._nodes[seed] = Node(self._connect(seed, None), self, str(seed))
            return node


def _fields(answer: Any) -> dict[str, str]:
    """The fields of a reply, which redis-py may have parsed already."""
    if isinstance(answer, dict):
        return {_text(name): _text(value) for name, value in answer.items()}
    if isinstance(answer, list):
        return {_text(name): _text(value) for name, value in zip(answer[::2], answer[1::2], strict=True)}
    rows = [row.partition(":") for row in _text(answer).splitlines()]
    return {name: value for name, _, value in rows}


def _text(host: Any) -> str:
    """The address in a reply; empty if a node does not know its own."""
    text = host.decode() if isinstance(host, bytes) else str(host or "")
    return "" if text == "?" else text
