"""`make chaos CLUSTER=1`: the storm on three masters with a replica each, until so many faults have happened.

Kills, freezes and failovers of nodes, slots that move, shards that are added and retired, beside all that happens to
processes. docs/explanation/guarantees.md says what may be lost: here nothing, as in the storm on one server.
"""

import random
from pathlib import Path

import pytest

from hearsay.ops.server.embedded import EmbeddedServer
from tests.chaos.cluster.faults import ClusterFaults
from tests.chaos.load import Load, main, make_all_known, print_table, strike_for
from tests.cluster import EmbeddedCluster

FAULTS_A_MINUTE = 10
SHARDS = 3
SLOWER = 2.0  # than on one server: seven servers share the processors
OF_CLUSTER = ("master", "replica", "failover", "slot", "shards")


def run(minutes: float, seed: int, directory: Path) -> int:
    """Print a table of faults; 1 where a report was lost or doubled, or too few faults happened."""
    with pytest.MonkeyPatch.context() as patch:
        make_all_known(patch)
        cluster = EmbeddedCluster(directory / "cluster", replicas=1)
        with EmbeddedServer(directory / "queue") as queue, cluster:
            storm = ClusterFaults(cluster, queue, directory, random.Random(seed))
            load = Load(storm, 60 * minutes, SHARDS, SLOWER)
            outcome = strike_for(minutes, storm, load)
    faults = sum(storm.faults.values())
    of_cluster = sum(count for name, count in storm.faults.items() if any(word in name for word in OF_CLUSTER))
    heading = f"{load.reports:,} reports, {faults} faults, {of_cluster} of them of nodes, slots and shards"
    wrong = print_table(storm.faults, outcome, load.losses, f"CLUSTER=1 MINUTES={minutes:g} SEED={seed}: {heading}")
    if faults < FAULTS_A_MINUTE * minutes:
        print(f"only {faults} faults: the machine is too busy for a storm")
        return 1
    return int(wrong)


if __name__ == "__main__":
    main(run)
