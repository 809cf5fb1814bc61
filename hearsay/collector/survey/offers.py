"""What a device is offered of a round, and what it refuses.

An offer names the survey's tag and the round, and carries what the round needs to be answered: public parameters, or
what was drawn from them for this device. It never carries a budget: devices take these from the survey that they know,
so that whoever forges an offer can spoil answers but never a device's privacy.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from hearsay.collector.errors import OfferRefused
from hearsay.collector.survey.survey import Survey
from hearsay.mechanisms.exact.randomness import Random

_FIELDS = {"tag", "round", "parameters"}
_LARGEST = 1 << 20  # more rounds than any survey has; a refusal may print numbers up to here


@dataclass(frozen=True)
class Offer:
    """A round, as one device gets it; `parameters` is empty in round 1. `shared`: every device gets the same."""

    tag: str
    number: int
    parameters: Mapping[str, Any]
    shared: bool = field(default=False, compare=False)

    @classmethod
    def of(cls, survey: Survey, random: Random) -> Self:
        """The round that a survey stands in, drawn afresh for one device where the survey says so."""
        if not survey.history:
            return cls(survey.tag, 1, {}, shared=True)
        newest = survey.history[-1]
        given = survey.mechanism.hand_out(newest, random)
        return cls(survey.tag, len(survey.history) + 1, given, shared=given == newest)

    @classmethod
    def parse(cls, table: Mapping[str, Any]) -> Self:
        """From the plain form."""
        # Whoever hands out rounds may be hostile: nothing of theirs but small numbers gets into a refusal.
        if not isinstance(table, Mapping) or set(table) != _FIELDS:
            raise OfferRefused(what="round", must=f"have exactly {', '.join(sorted(_FIELDS))}", got="something else")
        tag, number, parameters = table["tag"], table["round"], table["parameters"]
        whole = type(number) is int and abs(number) <= _LARGEST
        if not isinstance(tag, str) or not whole or not isinstance(parameters, Mapping):
            raise OfferRefused(what="round", must="have a tag, a whole number and parameters", got="something else")
        return cls(tag, number, parameters)

    def table(self) -> dict[str, Any]:
        """As it is handed out: plain JSON."""
        return {"tag": self.tag, "round": self.number, "parameters": dict(self.parameters)}

    def accepted(self, survey: Survey, answered: int) -> Survey:
        """The survey in this round, for a device that answered rounds up to `answered`; OfferRefused says why not."""
        mechanism = survey.mechanism
        if self.tag != survey.tag:
            raise OfferRefused(what="round", expected=f"of the survey with tag {survey.tag8}", got="another")
        if not 1 <= self.number <= mechanism.rounds:
            raise OfferRefused(what="round", expected=f"in 1..{mechanism.rounds}", got=self.number)
        if self.number <= answered:
            raise OfferRefused(what="round", expected=f"after round {answered}, which was answered", got=self.number)
        if answered and mechanism.one_round_each:
            raise OfferRefused(f"round {answered} was answered, and this survey asks a device only once")
        if self.number == 1:
            if self.parameters:
                raise OfferRefused(what="round 1", must="have no parameters")
            return survey
        # Only the round's own parameters matter to a device; it may have missed what was before.
        return survey.in_round([*({} for _ in range(self.number - 2)), self.parameters])
