"""Whether a rate was held, and what kept it from being held: producers, link, server, workers or estimator."""

from collections.abc import Mapping
from dataclasses import dataclass

from hearsay.ops.load.watch import Servers

LATE_S = 1.0  # reports that are acknowledged so long after they were due are behind the schedule
COMMIT_S = 0.5  # how long after the last report was sent all may be committed: a range is cut, queued, folded
COMMIT_SHARE, MOST_COMMIT_S = 0.1, 3.0  # and a share of the test's time more, which is how far commits may fall behind
SHORTEST_S = 2.0  # a test that is due in less is over before anything can fall behind
STALE_S = 15.0  # a snapshot that lags so far behind the commits is the estimator's fault
_BUSY = 0.6  # of a core: a server that answers one command after the other has little left
_SLOW_PING_S = 0.005  # beyond the link's own time: the server does not come round to answer
_AWAY = 0.005  # of the time that a server was away: less would be printed as 0%
_WAITED = 0.2  # of the time: more waiting than this is what held the producers up
# What writers are asked to wait for, and whose it is.
_CAUSES = {
    "backlog": ("workers", "reports came in faster than workers committed them"),
    "quarantine": ("workers", "ranges are quarantined"),
    "deltas": ("workers", "deltas came in faster than they were merged"),
    "memory": ("server", "the server's memory is nearly full"),
    "disk": ("server", "the server cannot write its log"),
    "server": ("server", "the server was away"),
}


@dataclass(frozen=True)
class Evidence:
    """What was seen of a test at one rate. Shares of time are of the producing processes together."""

    seconds: float  # that the test took
    behind_s: float  # how late the last report was acknowledged
    all_sent: bool
    commit_behind_s: float | None  # how long after the last acknowledgement all was committed; None: never
    stale_s: float | None  # the same for the newest snapshot; None: nobody writes snapshots
    waits: Mapping[str, float]  # share of the time by cause
    publishing: float  # share of the time in calls to the server, without waits
    making: float  # share of the time for drawing, perturbing, encoding
    servers: Servers
    workers: int  # that run
    all_visible: bool = True  # whether a snapshot had all of it after `stale_s`
    late_s: float = LATE_S  # how late the last report may be acknowledged


@dataclass(frozen=True)
class Limit:
    """What held the rate up, and why it is thought so."""

    part: str
    why: str


def sending_held(seen: Evidence) -> bool:
    """Whether reports were acknowledged as they were due."""
    return seen.all_sent and seen.behind_s <= seen.late_s


def committing_held(seen: Evidence) -> bool:
    """Whether commits kept up."""
    allowed = min(COMMIT_S + COMMIT_SHARE * seen.seconds, MOST_COMMIT_S)
    return seen.commit_behind_s is not None and seen.commit_behind_s <= allowed


def held(seen: Evidence, due_s: float | None) -> bool | None:
    """Whether the rate was held, by which all was due within `due_s`; None: it was, for too short a time to judge."""
    if not (sending_held(seen) and committing_held(seen)):
        return False
    return None if due_s is not None and due_s < SHORTEST_S else True


def limit_of(seen: Evidence) -> Limit | None:
    """The part that did not keep up; None: all did."""
    servers = seen.servers
    is_busy = servers.busy >= _BUSY
    is_slow = servers.ping_s - servers.link_s >= _SLOW_PING_S
    server_words = (
        f"the server used {servers.busy:.0%} of a core" if is_busy else f"a ping took it {servers.ping_s * 1e3:.0f} ms"
    )
    if not sending_held(seen):
        named = {cause: share for cause, share in seen.waits.items() if cause in _CAUSES}
        cause = max(named, key=lambda each: named[each], default=None)
        if cause is not None and named[cause] >= _WAITED:
            part, words = _CAUSES[cause]
            return Limit(part, f"{words}: producers waited for {cause} {named[cause]:.0%} of the time")
        if seen.publishing + seen.waits.get("reply", 0.0) > seen.making:
            spent = f"producers spent {seen.publishing + seen.waits.get('reply', 0.0):.0%} of the time sending"
            if is_busy or is_slow:
                return Limit("server", f"{spent}, and {server_words}")
            if (away := named.get("server", 0.0)) >= _AWAY:
                return Limit("server", f"{spent}, and waited {away:.0%} of the time for a server that was away")
            return Limit("link", f"{spent}, and the server was idle {1 - servers.busy:.0%} of the time")
        return Limit("producers", f"they spent {seen.making:.0%} of the time making reports; try --processes, --replay")
    if not committing_held(seen):
        if not seen.workers:
            return Limit("workers", "no worker runs")
        if is_busy and servers.busy > 0.85:
            return Limit("server", f"{server_words}, and workers wait for it")
        if seen.commit_behind_s is None:
            return Limit("workers", f"all was sent in time, and part of it was not yet committed; {seen.workers} run")
        if (away_s := seen.waits.get("server", 0.0) * seen.seconds) >= seen.commit_behind_s:
            return Limit(
                "server", f"it was away for {away_s:.1f} s; all was committed {seen.commit_behind_s:.1f} s late"
            )
        return Limit(
            "workers", f"all was sent in time and committed {seen.commit_behind_s:.1f} s later; {seen.workers} run"
        )
    if seen.stale_s is not None and seen.stale_s > STALE_S:
        if not seen.all_visible:
            words = f"all was committed in time, and no snapshot had all of it within {seen.stale_s:.0f} s"
            return Limit("estimator", words)
        return Limit("estimator", f"all was committed in time, and a snapshot had it {seen.stale_s:.0f} s later")
    return None
