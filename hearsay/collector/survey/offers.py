"""What a device is offered of a round, and what it refuses.

An offer names the survey's tag and the round, and carries what the round needs to be answered: public parameters, or
what was drawn from them for this device. It never carries a budget: devices take these from the survey that they know,
so that whoever forges an offer can spoil answers but never a device's privacy.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from hearsay.collector.errors import OfferRefused
from hearsay.collector.survey.survey import Survey
from hearsay.mechanisms.exact.randomness import Random

_FIELDS = {"tag", "round", "parameters"}
_LARGEST = 1 << 20  # more rounds than any survey has; a refusal may print numbers up to here


@dataclass(frozen=True)
class Offer:
    """A round, as one device gets it; `parameters` is empty in round 1."""

    tag: str
    number: int
    parameters: Mapping[str, Any]

    @classmethod
    def of(cls, survey: Survey, random: Random) -> Self:
        """The round that a survey stands in, drawn afresh for one device where the survey says so."""
        number = len(survey.history) + 1
        given = survey.mechanism.hand_out(survey.history[-1], random) if survey.history else {}
        return cls(survey.tag, number, given)

    @classmethod
    def parse(cls, table: Mapping[str, Any]) -> Self:
        """From the plain form."""
        # Whoever hands out rounds may be hostile: nothing of theirs but small numbers gets into a refusal.
        if not isinstance(table, Mapping) or set(table) != _FIELDS:
            raise OfferRefused(f"round must have exactly {', '.join(sorted(_FIELDS))}, got something else")
        tag, number, parameters = table["tag"], table["round"], table["parameters"]
        whole = type(number) is int and abs(number) <= _LARGEST
        if not isinstance(tag, str) or not whole or not isinstance(parameters, Mapping):
            raise OfferRefused("round must have a tag, a whole number and parameters, got something else")
        return cls(tag, number, parameters)

    def table(self) -> dict[str, Any]:
        """As it is handed out: plain JSON."""
        return {"tag": self.tag, "round": self.number, "parameters": dict(self.parameters)}

    def accepted(self, survey: Survey, answered: int) -> Survey:
        """The survey in this round, for a device that answered rounds up to `answered`; OfferRefused says why not."""
        mechanism = survey.mechanism
        if self.tag != survey.tag:
            raise OfferRefused(f"round must be of the survey with tag {survey.tag8}, got another")
        if not 1 <= self.number <= mechanism.rounds:
            raise OfferRefused(f"round must be in 1..{mechanism.rounds}, got {self.number}")
        if self.number <= answered:
            raise OfferRefused(f"round must be after round {answered}, which was answered, got {self.number}")
        if answered and mechanism.one_round_each:
            raise OfferRefused(f"round {answered} was answered, and this survey asks a device only once")
        if self.number == 1:
            if self.parameters:
                raise OfferRefused("round 1 must have no parameters")
            return survey
        # Only the round's own parameters matter to a device; it may have missed what was before.
        return survey.in_round([*({} for _ in range(self.number - 2)), self.parameters])
