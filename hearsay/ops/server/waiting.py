"""How far the workers of a running pipeline are: for bench and tests."""

import time

from hearsay.collector.store.counters import counters_of
from hearsay.collector.store.reading import read
from hearsay.collector.store.registry import Registered


def folded(registered: Registered) -> int:
    """How many reports of a survey the workers have committed, all windows and shards."""
    pairs = [(store, window) for store in registered.stores for window in registered.windows]
    return sum(counters_of(store, window.name).get("folded", 0) for store, window in pairs)


def wait_until_folded(registered: Registered, reports: int, timeout_s: float = 60.0) -> None:
    """Wait for the workers; TimeoutError says how far they came."""
    deadline = time.monotonic() + timeout_s
    while (done := folded(registered)) < reports:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{done} of {reports} reports folded after {timeout_s:g} s")
        time.sleep(0.01)


def total_reports(registered: Registered) -> int:
    """The reports in the states themselves, read and added up as an estimator does."""
    mechanism = registered.survey.mechanism
    return sum(
        mechanism.reports(read(store, window.name).state)
        for store in registered.stores
        for window in registered.windows
    )
