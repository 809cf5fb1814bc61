"""The estimator's part of the bench `large`: `python -m hearsay.ops.bench.large_estimator URL DIR SURVEY` prints JSON.

It is a process of its own, so that its peak memory is that of merging, materialising and answering alone.
"""

import json
import re
import sys
import time
from pathlib import Path

import numpy as np

from hearsay.collector.store.connect import open_servers
from hearsay.collector.store.registry import Registered, Registry
from hearsay.estimator.materialise import Materialiser
from hearsay.estimator.readings import live
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.questions import answer, parse_text

QUERIES = 200  # ranges that are asked for


def main(url: str, root: str, name: str) -> None:
    """Merge the survey's deltas, run two passes over it, ask it, and print how long each took.

    The first pass is slower, because the system allocates the memory page by page.
    """
    registry = Registry(open_servers(url))
    registered = registry.get(name)
    measured = {"merge_s": _merge(registered)}
    measured["first_s"] = _materialise(registry, Path(root) / "first")
    measured["materialise_s"] = _materialise(registry, Path(root))
    measured["memory_mb"] = _peak_memory_mb()
    measured["estimate_s"] = _estimate(registered)
    estimate = live(registered).estimate()
    started = time.perf_counter()
    _ask(estimate)
    measured["query_ms"] = 1e3 * (time.perf_counter() - started) / QUERIES
    files = (Path(root) / name / "all").resolve().iterdir()
    measured["snapshot_mb"] = sum(path.stat().st_size for path in files) / 1e6
    print(json.dumps(measured))


def _materialise(registry: Registry, root: Path) -> float:
    """One pass of a new estimator; returns its duration in seconds."""
    started = time.perf_counter()
    result = Materialiser(registry, root).run_once()
    seconds = time.perf_counter() - started
    if (result.materialised, result.failed) != (1, 0):
        raise RuntimeError(
            f"the pass must materialise one window, got {result.materialised} windows and {result.failed} failures"
        )
    return seconds


def _peak_memory_mb() -> float:
    """The peak memory of this process alone: `getrusage` would include the parent process up to the start."""
    status = Path("/proc/self/status").read_text()
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return int(peak) / 1024


def _merge(registered: Registered) -> float:
    """Merge all waiting deltas; returns the seconds, reading included."""
    started = time.perf_counter()
    for shard in registered.shards:
        while not shard.compact(shard.read("all")):  # a worker was first
            started = time.perf_counter()
    return time.perf_counter() - started


def _estimate(registered: Registered) -> float:
    """Estimate from the state, once; returns the seconds, without reading it."""
    current = live(registered)
    started = time.perf_counter()
    current.estimate()
    return time.perf_counter() - started


def _ask(estimate: Estimate) -> None:
    """Ask for QUERIES random ranges, as text, like the command line and the page do."""
    ends = np.sort(np.random.default_rng(3).integers(0, estimate.domain.size, size=(QUERIES, 2)), axis=1)
    for low, high in ends.tolist():
        answer(parse_text(f"range {low} {high}"), estimate)


if __name__ == "__main__":
    main(*sys.argv[1:4])
