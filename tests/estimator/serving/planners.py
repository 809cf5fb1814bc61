"""`python -m tests.estimator.serving.planners`: what twenty people who plan at once do to the estimator's pass.

A survey of 65,536 cells changes with every pass. TURNS=8 times, SECONDS=8 each, in turns, because the machine's own
speed drifts: nobody plans; twenty ask for different plans all the time; a process of the same low priority only counts
(what any busy core costs the others on this machine). Printed: the mean seconds of a pass in every turn, the medians,
the `ratio` of each median to that of the quiet turns, by how much quiet turns themselves differ, and what the twenty
were answered.
"""

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from hearsay.collector.survey.survey import parse
from hearsay.estimator.serving import plan_worker
from hearsay.ops.server.processes import Pipeline

PEOPLE, RATE = 20, 20_000.0
USERS = itertools.count(10_000)  # so that no question was asked before
SURVEY = {"name": "wide", "mechanism": "haar", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 1 << 16}}


def measure(directory: Path, turns: int, seconds: float) -> dict[str, object]:
    """Seconds of a pass without planners, with them and beside a busy core, and what the planners were answered."""
    answered = Counter[int]()
    with Pipeline(directory, estimator=True, workers=1) as pipeline:
        pipeline.registry().add(parse(SURVEY))
        environment = {**os.environ, "HEARSAY_REDIS_URL": pipeline.server.url, "HEARSAY_DATA_DIR": str(directory)}
        longest_s = turns * (3 * seconds + 60)
        words = ["produce", "wide", f"--rate={RATE}", f"--devices={int(RATE * longest_s)}"]
        with (directory / "produce.log").open("ab") as log:
            producer = subprocess.Popen(
                [sys.executable, "-P", "-m", "hearsay", *words], env=environment, stdout=log, stderr=log
            )
        passes: dict[str, list[float]] = {"quiet": [], "planned": [], "busy_core": []}
        try:
            time.sleep(10)
            for _ in range(turns):
                passes["quiet"].append(_pass_s(pipeline, seconds))
                with _planners(pipeline, answered):
                    passes["planned"].append(_pass_s(pipeline, seconds))
                with _busy_core():
                    passes["busy_core"].append(_pass_s(pipeline, seconds))
        finally:
            producer.terminate()
            producer.wait(30)
    medians = {name: statistics.median(values) for name, values in passes.items()}
    quarters = statistics.quantiles(passes["quiet"], n=4)
    return {
        "pass_s": {name: [round(value, 4) for value in values] for name, values in passes.items()},
        "median_s": medians,
        "ratio": {name: value / medians["quiet"] for name, value in medians.items()},
        "quiet_turns_differ_by": (quarters[2] - quarters[0]) / medians["quiet"],
        "answers": dict(answered),
    }


@contextmanager
def _planners(pipeline: Pipeline, answered: "Counter[int]") -> Iterator[None]:
    stop = threading.Event()
    people = [threading.Thread(target=_plan, args=(pipeline, stop, answered)) for _ in range(PEOPLE)]
    for each in people:
        each.start()
    try:
        yield
    finally:
        stop.set()
        for each in people:
            each.join(60)


def _plan(pipeline: Pipeline, stop: threading.Event, answered: "Counter[int]") -> None:
    with httpx.Client(base_url=pipeline.address, timeout=60) as http:
        while not stop.is_set():
            question = {"kind": "ordinal", "size": 1024, "query": "range 100 300", "users": next(USERS), "epsilon": 1}
            response = http.get("/api/plan", params=question)
            answered[response.status_code] += 1
            stop.wait(float(response.headers.get("retry-after", 0)))


@contextmanager
def _busy_core() -> Iterator[None]:
    words = f"import os; os.setpriority(os.PRIO_PROCESS, 0, {plan_worker.LOWEST})\nwhile True: pass"
    counting = subprocess.Popen([sys.executable, "-c", words])
    try:
        yield
    finally:
        counting.kill()
        counting.wait()


def _pass_s(pipeline: Pipeline, seconds: float) -> float:
    count, total = _counted(pipeline)
    time.sleep(seconds)
    later_count, later_total = _counted(pipeline)
    return (later_total - total) / max(later_count - count, 1)


def _counted(pipeline: Pipeline) -> tuple[float, float]:
    """How many snapshots were made, and the seconds that took."""
    text = httpx.get(f"{pipeline.address}/metrics", timeout=60).text
    found = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("hearsay_materialise"))
    count = next(
        float(value) for name, value in found.items() if name.startswith("hearsay_materialise_duration_seconds_count")
    )
    total = next(
        float(value) for name, value in found.items() if name.startswith("hearsay_materialise_duration_seconds_sum")
    )
    return count, total


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        print(
            json.dumps(
                measure(Path(folder), int(os.environ.get("TURNS", "8")), float(os.environ.get("SECONDS", "8"))),
                indent=1,
            )
        )
