"""A cluster: which node holds each slot, as its nodes tell it, and which of them do not answer.

Slots move and nodes fail over at any time. A call that met the wrong node is put to the right one (`Node`); here is the
map. While a node does not answer, a thread asks the others for the map and that node for a sign of life.
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
from hearsay.collector.store.servers.place import Place
from hearsay.collector.store.servers.urls import Seed

_LOG = logging.getLogger("hearsay.servers")
SLOTS = 16_384
WATCH_S = 0.25  # between two looks at nodes that are away
COVERAGE = "cluster-require-full-coverage"
PROBE_S = 1.0  # what a sign of life may take


class Cluster:
    """Nodes and the slots that they hold. `connect(seed, timeout_s)` makes a plain client of one node."""

    alone = False

    def __init__(self, seeds: Sequence[Seed], connect: Callable[[Seed, float | None], Client]) -> None:
        self.seeds, self._connect = tuple(seeds), connect
        self._lock = threading.Lock()
        self._nodes: dict[Seed, Node] = {}
        self._slots: list[Node | None] = [None] * SLOTS
        self._places: dict[int, Place] = {}  # those that somebody holds
        self._holders: list[Node] | None = None  # those of all slots; None: to be found anew
        self._lost: set[Node] = set()
        self._watching = False
        error: Exception | None = None
        for seed in self.seeds:
            try:
                self.teller = self._node(seed)  # one that answers
                self._read_map(self.teller)
                return
            except RedisError as failed:
                error = error or failed
        assert error is not None
        raise error

    @property
    def identity(self) -> str:
        """The nodes that were named."""
        return ",".join(sorted(map(str, self.seeds)))

    def place(self, slot: int) -> Place:
        with self._lock:
            if slot not in self._places:
                # A slot that nobody serves: whoever is asked says so.
                self._places[slot] = Place(self._slots[slot] or next(iter(self._nodes.values())))
            return self._places[slot]

    def nodes(self) -> Sequence[Node]:
        """Every master that holds slots, by its address."""
        with self._lock:
            if self._holders is None:
                holders = {id(node): node for node in self._slots if node is not None}
                self._holders = sorted(holders.values(), key=lambda node: node.address)
            return self._holders

    def troubles(self) -> list[str]:
        """Ask for slots that nobody serves, and for a setting by which one lost node stops all."""
        for node in self.nodes():
            if node.away:
                continue
            with suppress(RedisError):
                listed, served = [], int(_fields(node.do("CLUSTER", "INFO")).get("cluster_slots_assigned", SLOTS))
                if served < SLOTS:
                    listed.append(f"cluster: nobody serves {SLOTS - served} of {SLOTS} slots, whose shards wait")
                with suppress(RedisError):  # not everybody may ask
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
        """The node that a redirection names; one that says `moved` stays in the map."""
        node = self._node(Seed(error.host, error.port))
        if type(error) is not AskError:
            with self._lock:
                self._put(error.slot_id, node)
        return node

    def lost(self, node: Node) -> None:
        """A node does not answer: look for it, and for whoever takes its place."""
        with self._lock:
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
        """Read the map from a node that answers, and forget those of the lost that answer or hold nothing any more."""
        with self._lock:
            lost, known = list(self._lost), list(self._nodes.values())
        for node in known:
            if not node.away:
                with suppress(RedisError, ServerError):
                    self._read_map(node)
                    break
        holders = {id(node) for node in self._slots}
        for node in lost:
            answers = self._answers(node)
            if answers:
                node.back()
                _LOG.warning("node %s answers again", node.address)
            elif id(node) in holders:
                continue
            with self._lock:
                self._lost.discard(node)
                if not answers:  # another one has taken its place; if it comes back, it comes back as a new one
                    self._nodes = {seed: each for seed, each in self._nodes.items() if each is not node}

    def _answers(self, node: Node) -> bool:
        client = self._connect(self._seed(node), PROBE_S)
        try:
            client.ping()
        except RedisError:  # loading, too
            return False
        finally:
            client.close()
        return True

    def _read_map(self, teller: Node) -> None:
        """As one node tells it."""
        asked = self._seed(teller)
        found: list[Node | None] = [None] * SLOTS
        for first, last, (host, port, *_), *_ in teller.do("CLUSTER", "SLOTS"):
            node = self._node(Seed(_text(host) or asked.host, int(port)))
            found[int(first) : int(last) + 1] = [node] * (int(last) - int(first) + 1)
        with self._lock:
            for slot, holder in enumerate(found):
                self._put(slot, holder)

    def _put(self, slot: int, node: Node | None) -> None:
        """One that nobody serves stays where it was."""
        self._slots[slot], self._holders = node, None
        if node is not None and slot in self._places:
            self._places[slot].node = node

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
    """Fields of an answer, which redis-py may have read already."""
    if isinstance(answer, dict):
        return {_text(name): _text(value) for name, value in answer.items()}
    if isinstance(answer, list):
        return {_text(name): _text(value) for name, value in zip(answer[::2], answer[1::2], strict=True)}
    rows = [row.partition(":") for row in _text(answer).splitlines()]
    return {name: value for name, _, value in rows}


def _text(host: Any) -> str:
    """An address as a node tells it; a node that does not know its own tells none."""
    text = host.decode() if isinstance(host, bytes) else str(host or "")
    return "" if text == "?" else text
