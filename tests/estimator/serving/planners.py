"""`python -m tests.estimator.serving.planners`: what twenty people who plan at once do to the estimator's pass.

A survey of 65,536 cells changes with every pass. Printed: the mean seconds of a pass over SECONDS=30 while nobody
plans, while twenty ask for different plans all the time, while a process of the same low priority only counts (what any
busy core costs the others on this machine), and while nobody does either again; `ratio`, the second over the mean of
the first and the last; and what the twenty were answered.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import httpx

from hearsay.collector.survey.survey import parse
from hearsay.estimator.serving import plan_worker
from hearsay.ops.server.processes import Pipeline

PEOPLE, RATE = 20, 20_000.0
SURVEY = {"name": "wide", "mechanism": "haar", "epsilon": 1.0, "domain": {"kind": "ordinal", "size": 1 << 16}}


def measure(directory: Path, seconds: float) -> dict[str, object]:
    """Mean seconds of a pass without, with and without planners, and what these were answered."""
    with Pipeline(directory, estimator=True, workers=1) as pipeline:
        pipeline.registry().add(parse(SURVEY))
        environment = {**os.environ, "HEARSAY_REDIS_URL": pipeline.server.url, "HEARSAY_DATA_DIR": str(directory)}
        words = ["produce", "wide", f"--rate={RATE}", f"--devices={int(RATE * (5 * seconds + 120))}"]
        with (directory / "produce.log").open("ab") as log:
            producer = subprocess.Popen(
                [sys.executable, "-P", "-m", "hearsay", *words], env=environment, stdout=log, stderr=log
            )
        try:
            time.sleep(10)
            before = _pass_s(pipeline, seconds)
            stop, answered = threading.Event(), Counter[int]()
            people = [threading.Thread(target=_plan, args=(pipeline, each, stop, answered)) for each in range(PEOPLE)]
            for each in people:
                each.start()
            planned = _pass_s(pipeline, seconds)
            stop.set()
            for each in people:
                each.join(60)
            beside = _pass_s_beside_a_busy_core(pipeline, seconds)
            after = _pass_s(pipeline, seconds)
        finally:
            producer.terminate()
            producer.wait(30)
    return {
        "pass_s": before,
        "pass_planned_s": planned,
        "pass_beside_a_busy_core_s": beside,
        "pass_after_s": after,
        "ratio": planned / ((before + after) / 2),
        "answers": dict(answered),
    }


def _plan(pipeline: Pipeline, person: int, stop: threading.Event, answered: "Counter[int]") -> None:
    users = 10_000 + person
    with httpx.Client(base_url=pipeline.address, timeout=60) as http:
        while not stop.is_set():
            users += PEOPLE
            question = {"kind": "ordinal", "size": 1024, "query": "range 100 300", "users": users, "epsilon": 1}
            response = http.get("/api/plan", params=question)
            answered[response.status_code] += 1
            stop.wait(float(response.headers.get("retry-after", 0)))


def _pass_s_beside_a_busy_core(pipeline: Pipeline, seconds: float) -> float:
    words = f"import os; os.setpriority(os.PRIO_PROCESS, 0, {plan_worker.LOWEST})\nwhile True: pass"
    counting = subprocess.Popen([sys.executable, "-c", words])
    try:
        return _pass_s(pipeline, seconds)
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
        print(json.dumps(measure(Path(folder), float(os.environ.get("SECONDS", "30"))), indent=1))
