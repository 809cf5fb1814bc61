"""One server: its client, scripts, clock, condition and run. Every shard has the node that holds its keys.

`ask` sends calls to many nodes: one pipeline for each node, all nodes at the same time.

Only this module handles replies that are no results: an unknown script, and on a cluster MOVED, ASK, CLUSTERDOWN and
TRYAGAIN. A command whose reply was lost is never repeated.
"""

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import Any, NamedTuple, Protocol

from redis.exceptions import (
    AskError,
    ClusterDownError,
    ConnectionError,
    MovedError,
    NoPermissionError,
    NoScriptError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TimeoutError,
    TryAgainError,
)

from hearsay.collector.store.client import Client
from hearsay.collector.store.condition import Condition, condition
from hearsay.collector.store.scripts import load

REDIRECTIONS = 16  # of one call; after so many it fails
TRY_AGAIN_S = 0.05
PATIENCE_S = 2.0  # how much later than the first a node may reply: one that hangs must not delay the others
_NODES = 64
_NOT_RUN = (NoScriptError, AskError, TryAgainError)  # the call was not executed; MovedError is an AskError
_AWAY = (ClusterDownError, TryAgainError, ReadOnlyError)
_ELSEWHERE = "attempted to access a non local key"  # a script's error while the keys of its slot are moved one by one
_IN_SCRIPT = "ACL failure in script"  # the user lacks the right for a command of a script; this error has no code


class Call(NamedTuple):
    """A script with its keys and arguments."""

    script: str
    keys: Sequence[str]
    arguments: Sequence[Any] = ()


class Command(NamedTuple):
    """A plain command as its words; the second word is the key."""

    words: tuple[Any, ...]


class NodeAway(ConnectionError):
    """A node does not reply, or serves no commands now. A command that was sent may have been executed or not."""


class Neighbours(Protocol):
    """The other nodes of a cluster."""

    def follow(self, error: AskError) -> "Node":
        """The node that a redirection names."""

    def lost(self, node: "Node") -> None:
        """Note that a node does not reply."""


class Node:
    """A server; without neighbours it is the only one.

    A node of a cluster that did not reply gets no calls until it replies to a ping, which `neighbours` send: a node
    that hangs must not delay every caller.
    """

    def __init__(self, client: Client, neighbours: Neighbours | None = None, address: str | None = None) -> None:
        self.client, self._neighbours, self._address = client, neighbours, address
        self._hashes: dict[str, str] = {}  # of scripts; empty until the server has them
        self._away = threading.Event()

    @property
    def address(self) -> str:
        """Host, port and database, as the client has them."""
        if self._address is not None:
            return self._address
        parameters = self.client.connection_pool.connection_kwargs
        server = parameters.get("path") or "{}:{}".format(parameters.get("host"), parameters.get("port"))
        return f"{server}/{parameters.get('db', 0)}"

    @property
    def away(self) -> bool:
        """Whether it did not reply lately; always False without neighbours."""
        return self._away.is_set()

    def back(self) -> None:
        """Note that it replies again; it may be another run of the server, without scripts."""
        self._hashes = {}
        self._away.clear()

    def run(self, script: str, keys: Sequence[str], arguments: Sequence[Any] = ()) -> Any:
        """Run one script."""
        return self._one(Call(script, keys, arguments))

    def do(self, *words: Any) -> Any:
        """Run one plain command, whose second word is the key. Returns what redis-py's method of that name returns."""
        return self._one(Command(words))

    def _one(self, call: Call | Command) -> Any:
        if self._neighbours is not None and self._away.is_set():
            raise NodeAway(f"node {self.address} does not answer")
        try:
            if isinstance(call, Command):
                return self.client.execute_command(*call.words)
            if not self._hashes:
                self._hashes = load(self.client)
            return self.client.evalsha(self._hashes[call.script], len(call.keys), *call.keys, *call.arguments)
        except (ConnectionError, TimeoutError):
            self.give_up()
            raise
        except ResponseError as error:
            if isinstance(error, _NOT_RUN):
                return _raised(self._settled([call], [error]))[0]
            raise self._translated(error) from None

    def many(self, calls: Sequence[Call | Command], raise_errors: bool = True) -> list[Any]:
        """Send all calls together, in this order, and wait once; raises the first error after all replies have come.

        Without `raise_errors` errors are returned among the replies.
        """
        replies = self._settled(calls, self._send(calls))
        return _raised(replies) if raise_errors else replies

    def _settled(self, calls: Sequence[Call | Command], replies: list[Any]) -> list[Any]:
        """The replies; calls that were not executed are sent again, to the node that the server names."""
        destinations = [_Destination(self) for _ in calls]
        for _ in range(REDIRECTIONS):
            not_run = [number for number, reply in enumerate(replies) if isinstance(reply, _NOT_RUN)]
            if not not_run:
                break
            if any(isinstance(replies[number], TryAgainError) for number in not_run):
                time.sleep(TRY_AGAIN_S)
            together: dict[_Destination, list[int]] = {}
            for number in not_run:
                destinations[number] = self._destination(destinations[number], replies[number])
                together.setdefault(destinations[number], []).append(number)
            for destination, numbers in together.items():
                try:
                    answers = destination.node._send([calls[number] for number in numbers], destination.asking)
                except (ConnectionError, TimeoutError) as error:
                    answers = [error] * len(numbers)
                for number, answer in zip(numbers, answers, strict=True):
                    replies[number] = answer
        return [self._translated(reply) if isinstance(reply, ResponseError) else reply for reply in replies]

    def _destination(self, before: "_Destination", error: ResponseError) -> "_Destination":
        """Where to send a call that was not executed."""
        if isinstance(error, NoScriptError):
            before.node._hashes = {}  # a server that was restarted has no scripts
        elif isinstance(error, AskError) and self._neighbours is not None:
            return _Destination(self._neighbours.follow(error), not isinstance(error, MovedError))
        return before

    def _translated(self, error: ResponseError) -> RedisError:
        """The error that callers get: NodeAway if the node serves no commands now, NoPermissionError from scripts."""
        serves_nothing = isinstance(error, (*_AWAY, AskError)) or _ELSEWHERE in str(error)
        if serves_nothing and self._neighbours is not None:
            return NodeAway(f"node {self.address}: {type(error).__name__}")
        if _IN_SCRIPT in str(error):
            return NoPermissionError(str(error))
        return error

    def _send(self, calls: Sequence[Call | Command], asking: bool = False) -> list[Any]:
        if self._neighbours is not None and self._away.is_set():
            raise NodeAway(f"node {self.address} does not answer")
        try:
            if not self._hashes and any(isinstance(call, Call) for call in calls):
                self._hashes = load(self.client)
            pipeline = self.client.pipeline(transaction=False)
            for call in calls:
                if asking:
                    pipeline.execute_command("ASKING")
                if isinstance(call, Call):
                    pipeline.evalsha(self._hashes[call.script], len(call.keys), *call.keys, *call.arguments)
                else:
                    pipeline.execute_command(*call.words)
            replies = pipeline.execute(raise_on_error=False)
        except (ConnectionError, TimeoutError):
            self.give_up()
            raise
        return replies[1::2] if asking else replies

    def give_up(self) -> None:
        """Note that it did not reply in time: further calls fail at once, until it replies to a ping."""
        if self._neighbours is not None:
            self._away.set()
            self._neighbours.lost(self)

    def _guarded(self, ask: Callable[[], Any]) -> Any:
        if self._neighbours is not None and self._away.is_set():
            raise NodeAway(f"node {self.address} does not answer")
        try:
            return ask()
        except (ConnectionError, TimeoutError):
            self.give_up()
            raise

    def run_id(self) -> str:
        """Ask for the id of the server's run: a server that restarted may have lost its last second."""
        return str(self._guarded(lambda: self.client.info("server")).get("run_id"))

    def condition(self) -> Condition:
        """Ask how full the server's memory is, and whether it can write to its disk."""
        state: Condition = self._guarded(lambda: condition(self.client))
        return state

    def memory(self) -> Mapping[str, Any]:
        """Ask for the server's memory statistics."""
        return self.client.info("memory")

    def replicas(self) -> int:
        """Ask how many replicas the server has."""
        return int(self._guarded(lambda: self.client.info("replication")).get("connected_slaves", 0))

    def keeps_log(self) -> bool:
        """Ask whether the server keeps an append-only file."""
        return bool(self._guarded(lambda: self.client.info("persistence")).get("aof_enabled"))

    def rewrite_log(self) -> bool:
        """Ask the server to rewrite its append-only file; False: it refuses."""
        try:
            if not self.keeps_log():
                return True  # there is none
            self.client.bgrewriteaof()
        except ResponseError as error:  # a user without the right, or a rewrite that already runs
            return "in progress" in str(error)
        return True

    def keys(self, pattern: str) -> list[str]:
        """Every key of this node that matches; scans all keys."""
        keys: list[bytes] = self._guarded(lambda: list(self.client.scan_iter(match=pattern, count=1_000)))
        return [key.decode() for key in keys]

    def processor_s(self) -> float:
        """Processor time that the server has used so far."""
        used: Mapping[str, Any] = self._guarded(lambda: self.client.info("cpu"))
        return float(used["used_cpu_sys"]) + float(used["used_cpu_user"])

    def link_s(self) -> float | None:
        """The round-trip time of the network, as the kernel measures it; None if it does not."""
        connection = self.client.connection_pool.get_connection()
        try:
            tcp_info = connection._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 72)  # Linux
            return int.from_bytes(tcp_info[68:72], sys.byteorder) / 1e6
        except (AttributeError, OSError):
            return None
        finally:
            self.client.connection_pool.release(connection)

    def ping(self) -> None:
        """Raise an error if the server does not reply."""
        self.client.ping()

    def disconnect(self) -> None:
        """Close the connections."""
        self.client.close()


class _Destination(NamedTuple):
    """The node to send a call to; with `asking` the slot is being moved there, so ASKING is sent first."""

    node: Node
    asking: bool = False


def _raised(replies: list[Any]) -> list[Any]:
    for reply in replies:
        if isinstance(reply, RedisError):
            raise reply
    return replies


def ask(questions: Iterable[tuple[Node, Call | Command]]) -> list[Any]:
    """The replies in the same order, with an error in the place of a missing one, also if a node does not reply."""
    questions = list(questions)
    calls: dict[Node, list[Call | Command]] = {}
    for node, call in questions:
        calls.setdefault(node, []).append(call)
    replies = {node: iter(some) for node, some in _side_by_side(calls).items()}
    return [next(replies[node]) for node, _ in questions]


def _side_by_side(calls: Mapping[Node, Sequence[Call | Command]]) -> dict[Node, list[Any]]:
    if len(calls) <= 1:
        return {node: _replies(node, some) for node, some in calls.items()}
    asked = {node: _pool().submit(_replies, node, some) for node, some in calls.items()}
    wait(asked.values(), return_when="FIRST_COMPLETED")
    wait(asked.values(), PATIENCE_S)
    replies = {}
    for node, future in asked.items():
        if future.done():
            replies[node] = future.result()
        else:
            node.give_up()
            replies[node] = [NodeAway(f"node {node.address} does not answer")] * len(calls[node])
    return replies


def conditions(nodes: Iterable[Node], within_s: float) -> dict[Node, Condition | None]:
    """The condition of each node; None: it did not answer in so short a time. All are asked at the same time."""
    asked = {node: _pool().submit(_condition, node) for node in nodes}
    wait(asked.values(), within_s)
    seen = {}
    for node, future in asked.items():
        if not future.done():
            node.give_up()
        seen[node] = future.result() if future.done() else None
    return seen


def _condition(node: Node) -> Condition | None:
    try:
        return node.condition()
    except RedisError:
        return None


def _replies(node: Node, calls: Sequence[Call | Command]) -> list[Any]:
    try:
        return node.many(calls, raise_errors=False)
    except RedisError as error:
        return [error] * len(calls)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_NODES, thread_name_prefix="hearsay-node")
