"""One server: its client, scripts, clock, condition and run. Every shard has the node that holds its keys.

What a server answers instead of a result (a script that it has not got, and on a cluster: moved, ask another, down, try
again) is dealt with here and nowhere else. A command that was sent and whose reply was lost is never repeated.
"""

import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
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

REDIRECTIONS = 16  # after so many the cluster has no stable answer
TRY_AGAIN_S = 0.05
_NOT_RUN = (NoScriptError, AskError, TryAgainError)  # nothing was done; MovedError is an AskError
_AWAY = (ClusterDownError, TryAgainError, ReadOnlyError)
_ELSEWHERE = "attempted to access a non local key"  # a script, while the slot's keys are moved one by one
_IN_SCRIPT = "ACL failure in script"  # what a user may not do: the server gives it no code of its own


class Call(NamedTuple):
    """A script with its keys and arguments."""

    script: str
    keys: Sequence[str]
    arguments: Sequence[Any] = ()


class Command(NamedTuple):
    """A plain command, word by word; its second word is the key."""

    words: tuple[Any, ...]


class NodeAway(ConnectionError):
    """A node does not answer, or serves nothing now; whether a command that was on its way was done is not known."""


class Neighbours(Protocol):
    """The other nodes of a cluster, as a node needs to know them."""

    def follow(self, error: AskError) -> "Node":
        """The node that a redirection names."""

    def lost(self, node: "Node") -> None:
        """A node does not answer."""


class Node:
    """A server, as all that live on it see it. Without neighbours it is alone.

    One of several that did not answer is not asked again until it answers a ping, which its neighbours see to: one that
    hangs must not hold up everybody who asks.
    """

    def __init__(self, client: Client, neighbours: Neighbours | None = None, address: str | None = None) -> None:
        self.client, self._neighbours, self._address = client, neighbours, address
        self._hashes: dict[str, str] = {}  # of scripts, once the server has them
        self._away = threading.Event()

    @property
    def address(self) -> str:
        """Host, port and database, as the client was given them."""
        if self._address is not None:
            return self._address
        to = self.client.connection_pool.connection_kwargs
        return f"{to.get('path') or '{}:{}'.format(to.get('host'), to.get('port'))}/{to.get('db', 0)}"

    @property
    def away(self) -> bool:
        """Whether it did not answer lately; only of one that has neighbours."""
        return self._away.is_set()

    def back(self) -> None:
        """It answers again; it may be another run of the server, without scripts."""
        self._hashes = {}
        self._away.clear()

    def run(self, script: str, keys: Sequence[str], arguments: Sequence[Any] = ()) -> Any:
        """Run one script."""
        return self._one(Call(script, keys, arguments))

    def do(self, *words: Any) -> Any:
        """Run one plain command; its second word is the key. Answers as redis-py's method of the name does."""
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
            raise self._said(error) from None

    def many(self, calls: Sequence[Call | Command], raise_errors: bool = True) -> list[Any]:
        """Send all calls together, in this order, and wait once; raises the first error after all were answered.

        Without `raise_errors` an error stands among the answers.
        """
        replies = self._settled(calls, self._send(calls))
        return _raised(replies) if raise_errors else replies

    def _settled(self, calls: Sequence[Call | Command], replies: list[Any]) -> list[Any]:
        """The same replies, but for calls that were not run: those are put again, where the server says."""
        places = [_Place(self) for _ in calls]
        for _ in range(REDIRECTIONS):
            not_run = [number for number, reply in enumerate(replies) if isinstance(reply, _NOT_RUN)]
            if not not_run:
                break
            if any(isinstance(replies[number], TryAgainError) for number in not_run):
                time.sleep(TRY_AGAIN_S)
            together: dict[_Place, list[int]] = {}
            for number in not_run:
                places[number] = self._place(places[number], replies[number])
                together.setdefault(places[number], []).append(number)
            for place, numbers in together.items():
                try:
                    answers = place.node._send([calls[number] for number in numbers], place.asking)
                except (ConnectionError, TimeoutError) as error:
                    answers = [error] * len(numbers)
                for number, answer in zip(numbers, answers, strict=True):
                    replies[number] = answer
        return [self._said(reply) if isinstance(reply, ResponseError) else reply for reply in replies]

    def _place(self, before: "_Place", error: ResponseError) -> "_Place":
        """Where to put a call that was not run."""
        if isinstance(error, NoScriptError):
            before.node._hashes = {}  # a server that was restarted has no scripts
        elif isinstance(error, AskError) and self._neighbours is not None:
            return _Place(self._neighbours.follow(error), not isinstance(error, MovedError))
        return before

    def _said(self, error: ResponseError) -> RedisError:
        """An error as callers understand it: a node that serves nothing now is away."""
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
        """It did not answer, or not in time: whoever asks next is told at once, until it answers a ping."""
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
        """Ask which run of the server this is: one that restarted may have lost its last second."""
        return str(self._guarded(lambda: self.client.info("server")).get("run_id"))

    def condition(self) -> Condition:
        """Ask whether the server has memory, and a disk to write to."""
        found: Condition = self._guarded(lambda: condition(self.client))
        return found

    def memory(self) -> Mapping[str, Any]:
        """Ask for the server's own account of its memory."""
        return self.client.info("memory")

    def replicas(self) -> int:
        """Ask how many replicas follow the server."""
        return int(self._guarded(lambda: self.client.info("replication")).get("connected_slaves", 0))

    def rewrite_log(self) -> bool:
        """Ask the server to rewrite its append-only file; False: it does not."""
        try:
            if not self.client.info("persistence").get("aof_enabled"):
                return True  # there is none
            self.client.bgrewriteaof()
        except ResponseError as error:  # without the right to, or busy with another one
            return "in progress" in str(error)
        return True

    def keys(self, pattern: str) -> list[str]:
        """Every key of this node that fits; walks through all of them."""
        keys: list[bytes] = self._guarded(lambda: list(self.client.scan_iter(match=pattern, count=1_000)))
        return [key.decode() for key in keys]

    def processor_s(self) -> float:
        """Processor time that the server has used so far."""
        used: Mapping[str, Any] = self._guarded(lambda: self.client.info("cpu"))
        return float(used["used_cpu_sys"]) + float(used["used_cpu_user"])

    def link_s(self) -> float | None:
        """What a round trip takes without the server, as the kernel measures it; None where it does not say."""
        connection = self.client.connection_pool.get_connection()
        try:
            tcp_info = connection._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 72)  # Linux
            return int.from_bytes(tcp_info[68:72], sys.byteorder) / 1e6
        except (AttributeError, OSError):
            return None
        finally:
            self.client.connection_pool.release(connection)

    def ping(self) -> None:
        """Raises where the server does not answer."""
        self.client.ping()

    def disconnect(self) -> None:
        """Give the connections back."""
        self.client.close()


class _Place(NamedTuple):
    """The node to put a call to; `asking`: it does not hold the slot yet, and was told to expect us."""

    node: Node
    asking: bool = False


def _raised(replies: list[Any]) -> list[Any]:
    for reply in replies:
        if isinstance(reply, RedisError):
            raise reply
    return replies
