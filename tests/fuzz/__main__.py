"""The cases of `make verify` in one process, with their table.

python -m tests.fuzz                     all of them
python -m tests.fuzz "CSV values" HTTP   those of some targets
python -m tests.fuzz HTTP 103 2000       2,000 cases of one target, from another seed
"""

import sys
import tempfile
import warnings
from pathlib import Path

import redis

from hearsay.ops.server.embedded import EmbeddedServer
from tests.fuzz.plan import PARTS, Around, fuzz
from tests.fuzz.tally import table


def main(words: list[str]) -> int:
    """Exit code 1 where a case failed."""
    warnings.simplefilter("error")
    if len(words) == 3 and words[1].isdecimal():
        chosen = [(words[0], int(words[2]), int(words[1]) - 100)]
    else:
        chosen = [part for part in PARTS if not words or part[0] in words]
    rows, failures = [], []
    with tempfile.TemporaryDirectory() as place, EmbeddedServer(Path(place) / "server") as server:
        for number, (target, cases, part) in enumerate(chosen):
            folder = Path(place) / str(number)
            folder.mkdir()
            with redis.Redis.from_url(server.url) as client:
                tally = fuzz(target, 100 + part, cases, Around(folder, client, f"fuzz{number}"))
            rows.append(tally.row())
            failures += list(tally.failures.values())
    print("\n".join([*table(rows), *failures]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
