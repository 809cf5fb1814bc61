"""Drives surveys with rounds: closes a round that has enough reports or time, waits until all of it is folded, asks the
mechanism what the next one needs, and opens it.

Every step may be repeated, and two estimators do no harm: steps are fenced by the round's number, and what the first
shard was told first is what all shards are told.
"""

import logging
from dataclasses import dataclass

from hearsay.collector.store.registry import Registered
from hearsay.collector.store.rounds import RoundsHeld, close_round, is_on_disk, open_round, rounds_of
from hearsay.collector.store.status import is_final, status
from hearsay.collector.survey.windows import Rounds
from hearsay.estimator.live import live
from hearsay.mechanisms.roles import EstimatorSide

_LOG = logging.getLogger("hearsay.estimator")


@dataclass(frozen=True)
class Progress:
    """Where a survey stands: its newest round, and whether that is open, draining (closed, not all folded), or over."""

    number: int
    state: str


def drive(registered: Registered, close: int | None = None) -> Progress | None:
    """Do what is due; None: the survey has no rounds. `close`: a round to close, whatever it has, if still open."""
    windows = registered.survey.windows
    if not isinstance(windows, Rounds):
        return None
    held = [rounds_of(store) for store in registered.stores]
    first = held[0]
    if first.number == 0:
        return Progress(0, "over")  # deleted meanwhile, or not all there yet
    if any(each.number < first.number for each in held[1:]):
        return _open(registered, first.number)  # a process died between two shards
    if any(each.open for each in held):
        if all(each.open for each in held) and close != first.number and not _is_due(registered, windows, held):
            return Progress(first.number, "open")
        for store in registered.stores:
            close_round(store, first.number)
        _LOG.info("round closed", extra={"survey": registered.survey.name, "round": first.number})
    if registered.closed:
        return Progress(first.number, "over")
    return _next(registered, first)


def _is_due(registered: Registered, windows: Rounds, held: list[RoundsHeld]) -> bool:
    """Whether the open round has enough reports, or had enough time."""
    if windows.within_s is not None:
        # By time that the collector has watched go by: a clock that jumps must neither end a round nor keep it open.
        pairs = zip(registered.stores, held, strict=True)
        if min(store.observed_ms() - each.newest.observed_ms for store, each in pairs) >= 1_000 * windows.within_s:
            return True
    if windows.reports is None:
        return False
    published = sum(status(store).published_reports for store in registered.stores)
    return published - sum(each.newest.reports_before for each in held) >= windows.reports


def _next(registered: Registered, held: RoundsHeld) -> Progress:
    """Open the round after a closed one, once nothing of it waits."""
    window = registered.survey.windows.numbered(held.number)
    if not all(is_final(store, window) for store in registered.stores):
        return Progress(held.number, "draining")
    # What the next round asks is computed from this one. Were its end lost again, it would get more reports, the next
    # round would ask something else, and devices that have heard the first question would answer that.
    if not all(is_on_disk(store) for store in registered.stores):
        return Progress(held.number, "draining")
    current = live(registered)
    mechanism: EstimatorSide = registered.survey.mechanism.in_round(held.history(held.number))
    parameters = mechanism.next_round(current.state) if held.number < mechanism.rounds else None
    if parameters is None:
        for store in registered.stores:
            store.close()
        _LOG.info("last round is over", extra={"survey": registered.survey.name, "round": held.number})
        return Progress(held.number, "over")
    open_round(registered.stores[0], held.number + 1, parameters)
    return _open(registered, held.number + 1)


def _open(registered: Registered, number: int) -> Progress:
    """Open a round in every shard, with what the first one holds for it."""
    parameters = registered.rounds.rounds[number - 1].parameters
    for store in registered.stores[1:]:
        open_round(store, number, parameters)
    _LOG.info("round opened", extra={"survey": registered.survey.name, "round": number})
    return Progress(number, "open")
