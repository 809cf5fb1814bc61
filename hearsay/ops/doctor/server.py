"""What the server says: that it answers, how full it is, its clock, and who works with it."""

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from redis.exceptions import RedisError

from hearsay.collector.health.troubles import troubles
from hearsay.collector.heartbeats import Alive, alive, has_ended
from hearsay.collector.roles import NEEDED
from hearsay.collector.store.condition import is_disk_trouble, why
from hearsay.collector.store.connect import connect_queue
from hearsay.collector.store.registry import Registry
from hearsay.errors import HearsayError
from hearsay.ops.config import Settings, without_password
from hearsay.ops.doctor.findings import Finding
from hearsay.ops.server.connection import open_registry
from hearsay.release import release

CLOCK_S = 5.0  # windows and ids of requests follow the server's clock: beyond that a person should know


class SeenServer(NamedTuple):
    """One finding for each thing; only the first where the server does not answer. `running`: the roles with a process
    that was seen lately; None: not known."""

    findings: list[Finding]
    running: frozenset[str] | None


def look_at_server(settings: Settings) -> SeenServer:
    url = without_password(settings.redis_url)
    started = time.perf_counter()
    try:
        registry = open_registry(settings)
        information = registry.node.client.info("server")
    except (HearsayError, RedisError, OSError) as error:
        return SeenServer([Finding("server", False, _words(error))], None)
    took_ms = 1_000 * (time.perf_counter() - started)
    version = information.get("valkey_version") or information.get("redis_version", "?")
    seen = alive(registry)
    findings = [
        Finding("server", True, f"{url}, version {version}, answers in {took_ms:.0f} ms"),
        _clock(int(information["server_time_usec"])),
        _queue(settings),
        *_processes(seen),
        *_troubles(registry),
    ]
    return SeenServer(findings, frozenset(process.role for process in seen if not has_ended(process)))


def _words(error: Exception) -> str:
    """One line; of a full disk in our own words."""
    return why(error) if isinstance(error, RedisError) and is_disk_trouble(error) else " ".join(str(error).split())


def _clock(server_us: int) -> Finding:
    """The server's clock beside this machine's."""
    off = server_us / 1e6 - time.time()
    words = f"the server's is {abs(off):.1f} s {'ahead of' if off > 0 else 'behind'} this machine's"
    near = abs(off) <= CLOCK_S
    return Finding("clock", near, words if near else f"{words}: set both by NTP")


def _queue(settings: Settings) -> Finding:
    url = settings.with_password().queue_url
    try:
        connect_queue(url).ping()
    except (HearsayError, RedisError, OSError) as error:
        return Finding("queue", False, _words(error))
    return Finding("queue", True, f"{settings.queue} on {without_password(settings.queue_url)}")


def _processes(seen: Sequence[Alive]) -> Iterator[Finding]:
    """Which roles run, and whether they run this release."""
    for role in NEEDED:
        count = sum(process.role == role.name for process in seen)
        words = f"{count} running" if count else f"none was seen lately; start one with: hearsay {role.command}"
        yield Finding(role.name, count > 0, words)
    versions = sorted({process.version for process in seen} - {release()})
    if seen:
        words = f"some processes run {', '.join(versions)}, this is {release()}: restart them"
        yield Finding("versions", not versions, words if versions else f"every process runs {release()}")


def _troubles(registry: Registry) -> Iterator[Finding]:
    """What `hearsay status --check` names, but the roles that were named above."""
    missing = {f"no-{role.name}" for role in NEEDED}
    listed = [trouble for trouble in troubles(registry) if trouble.code not in missing]
    for trouble in listed:
        yield Finding("trouble", False, trouble.words)
    if not listed:
        surveys = len(registry.names())
        yield Finding("pipeline", True, f"{surveys} {'survey' if surveys == 1 else 'surveys'}, nothing is stalled")
