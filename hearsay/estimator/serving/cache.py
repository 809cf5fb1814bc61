"""Estimates kept while nothing changes, so that a query after another costs a look at counters only."""

import threading
from collections import OrderedDict
from typing import NamedTuple

from hearsay.collector.store.counters import counters_of
from hearsay.collector.store.registry import Registered
from hearsay.collector.survey.windows import Window
from hearsay.estimator.live import choose, live
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.questions import check_reports

Key = tuple[object, ...]
HELD = 8
HELD_CELLS = 1 << 22  # of all estimates together: one of so many cells takes 200 MB or more


class Known(NamedTuple):
    """An estimate, and the windows that its sum leaves out."""

    estimate: Estimate
    left_out: tuple[str, ...]


class EstimateCache:
    """The last few estimates that were asked for, as many as fit. One is made at a time.

    What has changed is let go before it is made anew: of a large domain two may not fit into memory.
    """

    def __init__(self, entries: int = HELD, cells: int = HELD_CELLS) -> None:
        self._entries, self._cells = entries, cells
        self._lock = threading.Lock()
        self._held: OrderedDict[Key, tuple[Key, Known]] = OrderedDict()

    def get(self, registered: Registered, window: str) -> Known:
        """The estimate of a window (its name, `all`, or `last:N`) as it is now; QueryError where it is withheld."""
        with self._lock:
            chosen = choose(registered, window)
            place: Key = (registered.survey.tag, registered.birth, tuple(chosen))
            counters = self._counters(registered, chosen)
            held = self._held.pop(place, None)
            if held is None or held[0] != counters:
                held = None
                self._make_room(registered.survey.mechanism.domain.size)
                held = counters, self._make(registered, window)
            self._held[place] = held
            return held[1]

    def _make_room(self, cells: int) -> None:
        """Let the longest unused go until one of so many cells fits."""
        while self._held and (len(self._held) >= self._entries or cells + self._total() > self._cells):
            self._held.popitem(last=False)

    def _total(self) -> int:
        return sum(known.estimate.cost for _, known in self._held.values())

    def _make(self, registered: Registered, window: str) -> Known:
        current = live(registered, window)
        check_reports(current.survey.mechanism.reports(current.state), current.survey.minimum_reports)
        return Known(current.estimate(), current.left_out)

    def _counters(self, registered: Registered, chosen: list[Window]) -> Key:
        """All counters of all windows meant: they change with every commit."""
        return tuple(
            tuple(sorted(counters_of(store, window.name).items())) for window in chosen for store in registered.stores
        )
