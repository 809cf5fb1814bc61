"""One server: its client, scripts, clock, condition and run. Every shard has the node that holds its keys.

What a server answers instead of a result (a script that it has not got, and on a cluster: moved, try again) is dealt
with here and nowhere else. A command that was sent and whose reply was lost is never repeated.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from redis.exceptions import NoScriptError, RedisError

from hearsay.collector.store.client import Client
from hearsay.collector.store.condition import Condition, condition
from hearsay.collector.store.scripts import load


class Call(NamedTuple):
    """A script with its keys and arguments."""

    script: str
    keys: Sequence[str]
    arguments: Sequence[Any] = ()


class Command(NamedTuple):
    """A plain command, word by word."""

    words: tuple[Any, ...]


class Node:
    """A server, as all that live on it see it."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._hashes: dict[str, str] = {}  # of scripts, once the server has them

    @property
    def address(self) -> str:
        """Host, port and database, as the client was given them."""
        to = self.client.connection_pool.connection_kwargs
        return f"{to.get('path') or '{}:{}'.format(to.get('host'), to.get('port'))}/{to.get('db', 0)}"

    def run(self, script: str, keys: Sequence[str], arguments: Sequence[Any] = ()) -> Any:
        """Run one script."""
        if not self._hashes:
            self._hashes = load(self.client)
        try:
            return self.client.evalsha(self._hashes[script], len(keys), *keys, *arguments)
        except NoScriptError:  # nothing was run; a server that was restarted has no scripts
            self._hashes = load(self.client)
            return self.client.evalsha(self._hashes[script], len(keys), *keys, *arguments)

    def many(self, calls: Sequence[Call | Command], raise_errors: bool = True) -> list[Any]:
        """Send all calls together, in this order, and wait once; raises the first error after all were answered.

        Without `raise_errors` an error stands among the answers.
        """
        if not self._hashes:
            self._hashes = load(self.client)
        replies = self._send(calls)
        unknown = [number for number, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
        if unknown:
            self._hashes = load(self.client)
            for number, reply in zip(unknown, self._send([calls[number] for number in unknown]), strict=True):
                replies[number] = reply
        if raise_errors:
            for reply in replies:
                if isinstance(reply, RedisError):
                    raise reply
        return replies

    def _send(self, calls: Sequence[Call | Command]) -> list[Any]:
        pipeline = self.client.pipeline(transaction=False)
        for call in calls:
            if isinstance(call, Call):
                pipeline.evalsha(self._hashes[call.script], len(call.keys), *call.keys, *call.arguments)
            else:
                pipeline.execute_command(*call.words)
        return pipeline.execute(raise_on_error=False)

    def run_id(self) -> str:
        """Ask which run of the server this is: one that restarted may have lost its last second."""
        return str(self.client.info("server").get("run_id"))

    def condition(self) -> Condition:
        """Ask whether the server has memory, and a disk to write to."""
        return condition(self.client)

    def memory(self) -> Mapping[str, Any]:
        """Ask for the server's own account of its memory."""
        return self.client.info("memory")

    def ping(self) -> None:
        """Raises where the server does not answer."""
        self.client.ping()

    def disconnect(self) -> None:
        """Give the connections back."""
        self.client.close()
