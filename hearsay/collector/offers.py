"""The open round of a survey, as it is handed out to one device."""

from hearsay.collector.store.registry import Registered
from hearsay.collector.survey.offers import Offer
from hearsay.mechanisms.exact.randomness import Random


def open_offer(registered: Registered, random: Random) -> Offer | None:
    """What one device gets of the open round, drawn afresh for it where the survey says so; None: none is open."""
    survey = registered.survey
    seen = registered.look()
    if seen.closed:
        return None
    if not survey.windows.in_rounds:
        return Offer.of(survey, random)
    rounds = seen.rounds
    return Offer.of(survey.in_round(rounds.history(rounds.number)), random) if rounds.open else None
