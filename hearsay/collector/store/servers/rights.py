"""The commands and keys that each role needs: the rights of the users that `hearsay redis acl` prints.

A script runs with the rights of its caller. The caller needs EVALSHA on every key of the script, and the server checks
every command inside the script with its key. So a user has one selector for EVALSHA, and others that each allow some
commands on some keys; a command is allowed if one selector allows all of it. Selectors need version 7.0 of the server.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

# The category also has commands that servers of 7.0 do not know by name (CLIENT SETINFO, WAITAOF). Without the
# dangerous ones, all of its commands concern the user's own connection, except CLIENT TRACKING: it shows the names of
# keys that others change.
CONNECTION = "+@connection -@dangerous -client|tracking"
# Commands without a key: for connecting, for the scripts, and INFO, by which PUBLISH reads the server's memory.
CONNECTING = "info script|load time cluster|slots cluster|nodes cluster|info"
READING = (
    "hget hmget hgetall hkeys hvals hexists hlen hscan get mget exists pttl smembers xlen xrange xrevrange lindex "
    "lrange llen"
)
# RQ may run any command on its own keys, but none that affects other keys.
QUEUE = "+@read +@write +@transaction +@blocking +@pubsub -@dangerous -@scripting +evalsha +eval ~rq:* &rq:*"


class Right(NamedTuple):
    """Commands on keys of shards, or with `whole` on keys of the deployment."""

    commands: str
    keys: str
    whole: bool = False
    access: str = ""  # R: reading only


_RELEASE = Right("hmget", "forms", whole=True, access="R")
_WRITING_STATES = Right("hset", "forms", whole=True)
_LIFE = (
    Right("evalsha hset hdel hgetall", "heartbeats complaints", whole=True),
    Right("hincrby hincrbyfloat", "timings", whole=True),
)
_LOOKING = (
    Right("evalsha", "*"),
    Right(READING, "*", access="R"),
    Right("hget hmget hgetall hkeys", "surveys", whole=True, access="R"),
    Right("get", "{*:surveys}:version", whole=True, access="R"),
    _RELEASE,
)
_SEEING_ALL = (
    *_LOOKING,
    Right("hget hmget hgetall", "timings gateway", whole=True, access="R"),
    Right("evalsha", "heartbeats complaints", whole=True),
    Right("hgetall", "heartbeats complaints", whole=True, access="R"),
)
_PUBLISHING = (
    Right("hset", "writers hours ids:*"),
    Right("xadd", "stream"),
    Right("rpush", "marks"),
    Right("hincrby", "published"),
)
_MERGING = (
    Right("hset hincrby", "acc:*"),
    Right("set persist unlink", "chunk:*"),
    Right("hdel", "deltas"),
    Right("unlink", "part:*"),
    Right("hincrby", "meta"),
)
ROLES: dict[str, tuple[Right, ...]] = {
    "writer": (
        Right("evalsha", "stream writers meta rounds marks hours published ids:*"),
        Right("hget hmget", "writers meta rounds hours published ids:*", access="R"),
        Right("hgetall", "rounds", access="R"),
        Right("xlen", "stream", access="R"),
        *_PUBLISHING,
        Right("hset", "published"),
        Right("hget", "surveys", whole=True, access="R"),
        _RELEASE,
    ),
    "gateway": (
        *_LOOKING,
        *_PUBLISHING,
        Right("hset", "published"),
        Right("hgetall", "keys", whole=True, access="R"),
        Right("hincrby", "gateway", whole=True),
        *_LIFE,
    ),
    "collector": (
        *_SEEING_ALL,
        *_LIFE,
        _WRITING_STATES,
        *_MERGING,
        Right("hset hdel", "meta"),
        Right("hset hincrby", "cursor"),
        Right("hset", "ranges"),
        Right("ltrim lset", "marks"),
        Right("xtrim", "stream"),
        Right("hdel", "writers"),
        Right("hset hdel", "hours"),
        Right("unlink", "ids:*"),
        Right("hincrby", "published"),
    ),
    "worker": (
        *_SEEING_ALL,
        *_LIFE,
        _WRITING_STATES,
        Right("hdel", "ranges"),
        Right("hset", "deltas"),
        Right("hset hincrby", "counters:*"),
        *_MERGING,
        Right("xadd", "dead"),
        Right("sadd", "windows"),
        Right("set persist", "part:*"),
    ),
    "estimator": (
        *_SEEING_ALL,
        *_LIFE,
        _WRITING_STATES,
        *_MERGING,
        Right("hset unlink", "snapshot:*"),
        Right("sadd", "places"),
        Right("unlink", "acc:* counters:*"),
        Right("srem", "windows"),
        Right("xdel", "dead"),
        Right("hset", "rounds published"),
    ),
    "reader": _SEEING_ALL,
}
SCANNING = ("gateway", "collector", "worker", "estimator", "reader")
ON_QUEUE = ("collector", "worker")
FOR_ONE_SURVEY = ("writer",)


def users(prefix: str, survey: str | None = None) -> dict[str, list[str]]:
    """The rules of every role's user, for ACL SETUSER; with `survey`, writers may touch that survey only."""
    return {role: list(_rules(role, prefix, survey if role in FOR_ONE_SURVEY else None)) for role in ROLES}


def _rules(role: str, prefix: str, survey: str | None) -> Iterator[str]:
    yield from ("reset", "on", "resetchannels")
    yield from CONNECTION.split()
    yield from _allowed(f"{CONNECTING} scan" if role in SCANNING else CONNECTING)
    shard = f"{prefix}:{{{'*' if survey is None else survey + '.*'}}}:"
    for right in ROLES[role]:
        start = f"{prefix}:" if right.whole else shard
        keys = [f"%R~{start}{key}" if right.access else f"~{start}{key}" for key in right.keys.split()]
        yield f"({' '.join([*_allowed(right.commands), *keys])})"
    if role in ON_QUEUE:
        yield f"({QUEUE})"


def _allowed(commands: str) -> Iterable[str]:
    return [f"+{command}" for command in commands.split()]
