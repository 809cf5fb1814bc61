"""Progress of the workers of a running pipeline: for bench and tests."""

import time

from hearsay.collector.store.registry import Registered


def folded(registered: Registered) -> int:
    """How many reports of a survey the workers have committed, all windows and shards."""
    counted = registered.look().counted.values()
    return sum(counters.get("folded", 0) for shards in counted for counters in shards)


def wait_until_folded(registered: Registered, reports: int, timeout_s: float = 60.0) -> None:
    """Wait until the workers have folded so many reports; a TimeoutError names the number folded."""
    deadline = time.monotonic() + timeout_s
    while (done := folded(registered)) < reports:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{done} of {reports} reports folded after {timeout_s:g} s")
        time.sleep(0.01)


def total_reports(registered: Registered) -> int:
    """The reports in the states themselves, read and added up as an estimator does."""
    mechanism, windows = registered.survey.mechanism, registered.look().windows
    return sum(mechanism.reports(shard.read(window.name).state) for shard in registered.shards for window in windows)
