"""Check at the start of a process that its user has the rights of its role; otherwise a job would fail much later.

A server checks a user's rights before it checks the arguments of a command. So every command of the role's table is
sent with arguments that the server refuses, or on a key that does not exist. This changes nothing. Any reply but "no
permission" (also that of a full server, or MOVED of a cluster) shows that the user has the right.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from redis.exceptions import ConnectionError, NoPermissionError, TimeoutError

from hearsay.collector.errors import MissingRight
from hearsay.collector.roles import Role
from hearsay.collector.store.client import Client
from hearsay.collector.store.registry import Registry
from hearsay.collector.store.servers.rights import ON_QUEUE, ROLES, Right

_SHARD = "{_probe.0}"  # of no survey: no name has an underscore
_NO_SCRIPT = "0" * 40
# The arguments after the key. RPUSH and SADD are left out, because they cannot be sent without a change.
_ARGUMENTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("hgetall", "hkeys", "hvals", "hlen", "get", "mget", "exists", "pttl", "smembers"), ()),
    **dict.fromkeys(("xlen", "llen", "persist", "unlink"), ()),
    **dict.fromkeys(("hget", "hmget", "hexists", "hdel", "srem"), ("probe",)),
    "hscan": ("0",),
    "xrange": ("-", "+"),
    "xrevrange": ("+", "-"),
    "lindex": ("0",),
    "lrange": ("0", "0"),
    "ltrim": ("0", "0"),
    "xdel": ("0-1",),
    "lpushx": ("probe",),
    # These are refused: a field without a value, a word that is no number, id or option.
    "hset": ("probe", "probe", "probe"),
    "hincrby": ("probe", "x"),
    "hincrbyfloat": ("probe", "x"),
    "lset": ("x", "probe"),
    "set": ("probe", "probe"),
    "xadd": ("x", "probe", "probe"),
    "xtrim": ("MAXLEN", "x"),
    "zadd": ("x", "probe"),
}
_QUEUE = Right("hset hgetall zadd lpushx", "rq:hearsay:probe")  # what RQ does with every job


class _Probe(NamedTuple):
    """A command that changes nothing, and a text for the right that it needs."""

    words: tuple[str, ...]
    right: str


def check_rights(registry: Registry, role: Role) -> None:
    """Refuse a user that lacks a right of the role on some node; nodes that do not reply are left out."""
    probes = [
        probe
        for right in ROLES[role.name]
        for start in [f"{registry.prefix}:" if right.whole else f"{registry.prefix}:{_SHARD}:"]
        for probe in _probes(right, start, registry.prefix)
    ]
    for node in registry.servers.nodes():
        _check(node.client, probes, role, f"on {node.address}", f"name the {role.name}'s own user in HEARSAY_REDIS_URL")


def check_queue_rights(client: Client, role: Role) -> None:
    """Refuse a user that may not add jobs to RQ's queue, or take jobs from it."""
    assert role.name in ON_QUEUE
    advice = f"name the {role.name}'s own user in HEARSAY_QUEUE_URL"
    _check(client, list(_probes(_QUEUE, "", "")), role, "on the queue's server", advice)


def _probes(right: Right, start: str, prefix: str) -> Iterator[_Probe]:
    for key in (start + name.replace("{*", "{" + prefix).replace("*", "probe") for name in right.keys.split()):
        for command in right.commands.split():
            words = f"{command.upper()} on {key.replace(_SHARD, '{*}').replace('probe', '*')}"
            if command == "evalsha":
                yield _Probe((command, _NO_SCRIPT, "1", key), words)
            elif command in _ARGUMENTS:
                yield _Probe((command, key, *_ARGUMENTS[command]), words)


def _check(client: Client, probes: Sequence[_Probe], role: Role, where: str, advice: str) -> None:
    pipeline = client.pipeline(transaction=False)
    for probe in probes:
        pipeline.execute_command(*probe.words)
    answers = []
    with suppress(ConnectionError, TimeoutError):  # it does not reply, or loads its data: missing rights show later
        answers = pipeline.execute(raise_on_error=False)
    missing = [
        probe.right for probe, answer in zip(probes, answers, strict=False) if isinstance(answer, NoPermissionError)
    ]
    if missing:
        user = client.connection_pool.connection_kwargs.get("username") or "default"
        article = "an" if role.name[0] in "aeiou" else "a"
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise MissingRight(
            f"the user {user} may not do what {article} {role.name} does {where}: it lacks {missing[0]}{more}; "
            f"{advice}, with the rights that `hearsay redis acl` prints"
        )
