"""Estimates kept while nothing changes, so that a query after another costs a look at counters only."""

import threading
from collections import OrderedDict

from collector.registry import Registered
from estimator.live import choose, counters_of, live
from estimator.query import check_reports
from mechanisms.result import Estimate

Key = tuple[object, ...]


class EstimateCache:
    """The last few estimates that were asked for. One is made at a time: two of a large domain may not fit."""

    def __init__(self, entries: int = 8) -> None:
        self._entries = entries
        self._lock = threading.Lock()
        self._held: OrderedDict[Key, Estimate] = OrderedDict()

    def get(self, registered: Registered, window: str) -> Estimate:
        """The estimate of a window (its name, `all`, or `last:N`) as it is now; QueryError where it is withheld."""
        with self._lock:
            key = self._key(registered, window)
            estimate = self._held.pop(key, None)
            if estimate is None:
                estimate = self._make(registered, window)
            self._held[key] = estimate
            while len(self._held) > self._entries:
                self._held.popitem(last=False)
            return estimate

    def _make(self, registered: Registered, window: str) -> Estimate:
        current = live(registered, window)
        check_reports(current.survey.mechanism.reports(current.state), current.survey.minimum_reports)
        return current.estimate()

    def _key(self, registered: Registered, window: str) -> Key:
        """All counters of all windows meant: they change with every commit."""
        chosen = choose(registered, window)
        counters = tuple(
            tuple(sorted(counters_of(store, name).items())) for name in chosen for store in registered.stores
        )
        return registered.survey.tag, registered.birth, tuple(chosen), counters
