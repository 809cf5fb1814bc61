"""The roles of a deployment: one row per kind of process, with what it needs.

The Procfile, the pipelines of demo, bench and tests, `hearsay status` and the health checks read this table. A new role
is a row here and its line in the Procfile.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Role:
    """One kind of process.

    `name` stands in heartbeats, logs and metrics; `process` is its name in the Procfile, and `hearsay COMMAND` starts
    it. `needed`: without it reports that were taken in never become answers, so a deployment that lacks it is
    incomplete. `beats`: it writes heartbeats. `count` is the setting that says how many processes it runs, None: one.
    `address` are the settings of host and port where it answers /healthz and /readyz, None: its heartbeat is its
    health check.
    """

    name: str
    process: str
    command: str
    needed: bool = True
    beats: bool = True
    count: str | None = None
    address: tuple[str, str] | None = None


SERVER = Role("server", "redis", "redis", beats=False)  # answers PING; every connection checks it
COLLECTOR = Role("collector", "collector", "collect")
WORKER = Role("worker", "workers", "work", count="workers")
ESTIMATOR = Role("estimator", "estimator", "estimate", address=("host", "port"))
# Without a gateway reports still come in by writers.
GATEWAY = Role(
    "gateway", "gateway", "gateway", False, count="gateway_processes", address=("gateway_host", "gateway_port")
)

ROLES = (SERVER, COLLECTOR, WORKER, ESTIMATOR, GATEWAY)
NEEDED = tuple(role for role in ROLES if role.needed and role.beats)
