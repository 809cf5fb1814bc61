"""Whether `produce --ramp` finds the rate that a pipeline holds: `python -m tests.measures.ramp [TURNS [DIR]]`.

In turns: as many reports as the pipeline takes, replayed without a pace, and a ramp. The highest rate that the ramp
held should be within a fifth of the rate of the replay. With DIR the last ramp's report is written there.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hearsay.collector.survey.survey import parse
from hearsay.ops.server.processes import Pipeline

SURVEY = {"name": "ramp", "mechanism": "hrr", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 1_024}}
REPLAYED = 100_000_000
WITHIN = 0.2


def produce(pipeline: Pipeline, *options: str, replay: bool = True) -> dict[str, Any]:
    """What `hearsay produce` says of itself as a load test, with reports that are made before or anew."""
    more = ("--replay", *options) if replay else options
    command = [sys.executable, "-P", "-m", "hearsay", "produce", "ramp", "--json", *more]
    done = subprocess.run(command, env=pipeline._environment, check=True, stdout=subprocess.PIPE)
    table: dict[str, Any] = json.loads(done.stdout)
    return table


def main() -> None:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    report = ["--report", sys.argv[2]] if len(sys.argv) > 2 else []
    with tempfile.TemporaryDirectory() as folder, Pipeline(Path(folder), estimator=True, workers=2) as pipeline:
        pipeline.registry().add(parse(SURVEY))
        for _ in range(turns):
            free = produce(pipeline, "--devices", str(REPLAYED), "--processes", "1")["committed_per_s"]
            ramp = produce(pipeline, "--ramp", "--processes", "1", *report)
            held = ramp.get("asked_per_s") or 0.0  # none: no step was held
            words = f"limit {ramp['limit']}: {ramp['why']}"
            print(f"replay {free:,.0f}/s, ramp held {held:,.0f}/s, {held / free:.2f} of it (1 +- {WITHIN:g}); {words}")


if __name__ == "__main__":
    main()
