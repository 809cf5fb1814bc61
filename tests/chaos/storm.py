"""`make chaos`: every process doubled, and for minutes on end everything that can go wrong; then reports are counted.

docs/explanation/guarantees.md says what may be lost: here nothing, since producers live until the end and gateways are
durable, but for reports of a round that was closed when the server had lost them, which the writer tells.
"""

import random
from pathlib import Path

import pytest

from hearsay.ops.server.embedded import EmbeddedServer
from tests.chaos.faults import FAKETIME, Storm
from tests.chaos.load import Load, main, make_all_known, print_table, strike_for

KILLS_A_MINUTE = 20


def run(minutes: float, seed: int, directory: Path) -> int:
    """Print a table of faults; 1 where a report was lost or doubled."""
    with pytest.MonkeyPatch.context() as patch:
        make_all_known(patch)
        server = EmbeddedServer(directory / "server")
        storm = Storm(server, directory, random.Random(seed))
        storm.start_server()
        load = Load(storm, 60 * minutes)
        try:
            outcome = strike_for(minutes, storm, load)
        finally:
            server.stop()
    kills = sum(count for name, count in storm.faults.items() if "kill -9" in name)
    clock = "libfaketime" if FAKETIME.exists() else "the scripts"
    heading = f"MINUTES={minutes:g} SEED={seed}: {load.reports:,} reports, {kills} kills, clock turned by {clock}"
    wrong = print_table(storm.faults, outcome, load.losses, heading)
    if kills < KILLS_A_MINUTE * minutes:
        print(f"only {kills} kills: the machine is too busy for a storm")
        return 1
    return int(wrong)


if __name__ == "__main__":
    main(run)
