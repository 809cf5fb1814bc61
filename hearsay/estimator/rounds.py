"""Drives surveys with rounds: closes a round that has enough reports or time, waits until all of it is folded, asks the
mechanism what the next one needs, and opens it.

Every step may be repeated, and two estimators do no harm: steps are fenced by the round's number, and what the first
shard was told first is what all shards are told.
"""

import logging
from dataclasses import dataclass

from hearsay.collector.store.registry import Registered, SurveyLook
from hearsay.estimator.readings import Readings
from hearsay.mechanisms.roles import EstimatorSide

_LOG = logging.getLogger("hearsay.estimator")


@dataclass(frozen=True)
class RoundState:
    """Where a survey stands: its newest round, and whether that is open, draining (closed, not all folded), or over."""

    number: int
    state: str


def drive(
    registered: Registered,
    close: int | None = None,
    *,
    seen: SurveyLook | None = None,
    readings: Readings | None = None,
) -> RoundState | None:
    """Do what is due; None: the survey has no rounds. `close`: a round to close, whatever it has, if still open."""
    if not registered.survey.windows.in_rounds:
        return None
    seen = registered.look() if seen is None else seen
    every = [look.rounds for look in seen.shards]
    first = every[0]
    if first.number == 0:
        return RoundState(0, "over")  # deleted meanwhile, or not all there yet
    if any(each.number < first.number for each in every[1:]):
        return _open(registered, first.number)  # a process died between two shards
    if any(each.open for each in every):
        if all(each.open for each in every) and close != first.number and not _is_due(seen):
            return RoundState(first.number, "open")
        for shard in registered.shards:
            shard.close_round(first.number)
        seen = registered.look()
        _LOG.info("round closed", extra={"survey": registered.survey.name, "round": first.number})
    if seen.closed:
        return RoundState(first.number, "over")
    return _next(seen, Readings() if readings is None else readings)


def _is_due(seen: SurveyLook) -> bool:
    """Whether the open round has enough reports, or has been open for long enough."""
    reports = sum(look.published_reports - look.rounds.newest.reports_before for look in seen.shards)
    # By time that the collector has watched go by: a clock that jumps must neither end a round nor keep it open.
    elapsed_ms = min(look.observed_ms - look.rounds.newest.observed_ms for look in seen.shards)
    return seen.survey.windows.is_due(reports, elapsed_ms / 1_000)


def _next(seen: SurveyLook, readings: Readings) -> RoundState:
    """Open the round after a closed one, once nothing of it waits."""
    registered, rounds = seen.registered, seen.rounds
    window = seen.survey.windows.numbered(rounds.number)
    if not seen.is_final(window):
        return RoundState(rounds.number, "draining")
    # What the next round asks is computed from this one. Were its end lost again, it would get more reports, the next
    # round would ask something else, and devices that have heard the first question would answer that.
    if not all(shard.is_kept() for shard in registered.shards):
        return RoundState(rounds.number, "draining")
    current = readings.live(registered)
    mechanism: EstimatorSide = seen.survey.mechanism.in_round(rounds.history(rounds.number))
    parameters = mechanism.next_round(current.state) if rounds.number < mechanism.rounds else None
    if parameters is None:
        for shard in registered.shards:
            shard.close()
        _LOG.info("last round is over", extra={"survey": seen.survey.name, "round": rounds.number})
        return RoundState(rounds.number, "over")
    registered.shards[0].open_round(rounds.number + 1, parameters)
    return _open(registered, rounds.number + 1)


def _open(registered: Registered, number: int) -> RoundState:
    """Open a round in every shard, with what the first one has for it."""
    parameters = registered.shards[0].rounds().rounds[number - 1].parameters
    for shard in registered.shards[1:]:
        shard.open_round(number, parameters)
    _LOG.info("round opened", extra={"survey": registered.survey.name, "round": number})
    return RoundState(number, "open")
