"""The name of every Redis key. `docs/reference/data-model.md` has its content, who writes it and when it is deleted.

`observed_ms` is the observed time, which does not jump with the server's clock (see TRIM there); `time-ms` and
`expires-at-ms` are by the server's clock.
"""

from dataclasses import dataclass
from functools import cached_property

PREFIX = "hs"
QUEUE = "hearsay"


def queue_name(queue: str, prefix: str) -> str:
    """The name of the RQ queue. It contains the prefix, so that deployments on one server do not share jobs."""
    return f"{queue}-{prefix}"


def surveys(prefix: str) -> str:
    """Hash: survey name to its registration (canonical form, number of shards)."""
    return f"{prefix}:surveys"


def surveys_version(prefix: str) -> str:
    """String: how often the registry was changed. The braces put it on the node of the registry."""
    return f"{prefix}:{{{surveys(prefix)}}}:version"


def api_keys(prefix: str) -> str:
    """Hash: a gateway key's id to its name, survey and SHA-256, as JSON."""
    return f"{prefix}:keys"


def gateway(prefix: str) -> str:
    """Hash: totals of all gateways: requests, reports, and refused and rejected ones by code."""
    return f"{prefix}:gateway"


def heartbeats(prefix: str) -> str:
    """Hash: `role:process` to `expires-at-ms info` of a live process; `info` is JSON (`ProcessInfo`)."""
    return f"{prefix}:heartbeats"


def old_heartbeat(prefix: str, role_and_process: str) -> str:
    """String with a time to live: the heartbeat of one process of a release up to 0.2.0."""
    return f"{prefix}:heartbeat:{role_and_process}"


def complaints(prefix: str) -> str:
    """Hash: `role:about` to `expires-at-ms text`; the text says why a process of this role cannot work."""
    return f"{prefix}:complaints"


def forms(prefix: str) -> str:
    """Hash: `deltas` and `accumulators` to the newest layout of each that was written."""
    return f"{prefix}:forms"


def timings(prefix: str) -> str:
    """Hash: for the metrics, the sum and the number of durations of each kind."""
    return f"{prefix}:timings"


@dataclass(frozen=True)
class ShardKeys:
    """The keys of one shard. They share a hash tag, so that scripts also run on a cluster.

    `tag8` is the first 8 digits of the survey's tag.
    """

    prefix: str
    name: str
    tag8: str
    shard: int

    @cached_property
    def base(self) -> str:
        return f"{self.prefix}:{{{self.name}.{self.tag8}.{self.shard}}}:"

    @cached_property
    def stream(self) -> str:
        return self.base + "stream"

    @cached_property
    def writers(self) -> str:
        """Hash: writer to the number of its last batch and the `observed_ms` at which that was stored."""
        return self.base + "writers"

    @cached_property
    def hours(self) -> str:
        """Hash: hour of request ids to the `observed_ms` of its last id; `floor`: the newest hour that was deleted."""
        return self.base + "hours"

    def ids(self, hour: int | str) -> str:
        """Hash: 8 random bytes of a request's id to 4 bytes of its digest, for the ids of one hour since 1970."""
        return f"{self.base}ids:{hour}"

    @cached_property
    def marks(self) -> str:
        """List: `first last frames singles bytes time-ms` of every batch that is not in a range yet (CUT)."""
        return self.base + "marks"

    @cached_property
    def cursor(self) -> str:
        """Hash: `id` of the last entry that is in a range, `seq` of the last range, totals of all ranges."""
        return self.base + "cursor"

    @cached_property
    def ranges(self) -> str:
        """Hash: seq to `first last entries bytes nonce attempt time-ms window-number state`."""
        return self.base + "ranges"

    @cached_property
    def deltas(self) -> str:
        """Hash: `window:seq:nonce` to a delta, or to the names of its parts."""
        return self.base + "deltas"

    @cached_property
    def meta(self) -> str:
        """Hash: whether the survey is open, causes of back-pressure, limits for PUBLISH, totals, `observed_ms`."""
        return self.base + "meta"

    @cached_property
    def published(self) -> str:
        """Hash: totals of what writers published. Not in `meta`, so that a writer needs no right to write there."""
        return self.base + "published"

    @cached_property
    def dead(self) -> str:
        """Stream of dead letters, bounded."""
        return self.base + "dead"

    @cached_property
    def skipped(self) -> str:
        """List: `first last entries what time-ms` of entries that an operator skipped."""
        return self.base + "skipped"

    @cached_property
    def windows(self) -> str:
        """Set: the windows that have data."""
        return self.base + "windows"

    @cached_property
    def places(self) -> str:
        """Set: `host:directory` of every directory that an estimator has written snapshots to."""
        return self.base + "places"

    @cached_property
    def rounds(self) -> str:
        """Hash: the number of the newest round, whether it is open, and each round's parameters and boundaries."""
        return self.base + "rounds"

    def accumulator(self, window: str) -> str:
        """Hash: version, layout, and for each chunk the key that holds it."""
        return f"{self.base}acc:{window}"

    def counters(self, window: str) -> str:
        """Hash: commits, folded reports, rejected entries and reports by reason."""
        return f"{self.base}counters:{window}"

    def snapshot(self, window: str) -> str:
        """Hash: version and JSON of the newest snapshot."""
        return f"{self.base}snapshot:{window}"

    def chunk(self, window: str, number: int, nonce: str) -> str:
        """A chunk of the accumulator; staged with a time to live, kept once MERGE names it."""
        return f"{self.base}chunk:{window}:{number}:{nonce}"

    def part(self, nonce: str, number: int) -> str:
        """A part of a large delta; staged with a time to live, kept once COMMIT names it."""
        return f"{self.base}part:{nonce}:{number}"
