"""What the registry holds of a survey: its definition, and which shards it has and had.

Writers go to the active shards. A shard that is retired takes no new writers; what it holds still counts, and it still
takes what is on its way. A request that is repeated at a gateway must meet the shard that has its id: requests are
dealt by the time in their id, and a change applies to ids from an hour later on: a device's clock may be so far ahead.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from hearsay.collector.errors import SurveyError
from hearsay.collector.survey.placement import shard_numbers
from hearsay.collector.survey.survey import Survey, parse

MAXIMUM_SHARDS = 1_024
MAXIMUM_NUMBER = 1 << 20
LATER_MS = 3_600_000 + 60_000  # how far ahead ids may be, and more than it takes a gateway to hear of a change
FORGET_MS = 2 * 86_400_000  # ids are remembered for a day
Dealt = tuple[tuple[int, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Registration:
    """A row of the registry. Shards are named by their numbers; the first active one stays the first for ever.

    `dealt` says to which shards requests go, each row for ids from that millisecond on; empty: to the active ones.
    """

    survey: Survey
    active: tuple[int, ...]
    retired: tuple[int, ...] = ()
    dealt: Dealt = ()

    @classmethod
    def new(cls, survey: Survey, shards: int) -> Self:
        """Of a survey that is added with so many shards."""
        return cls(survey, shard_numbers(survey.name, survey.tag8, shards))

    @property
    def numbers(self) -> tuple[int, ...]:
        """All shards that count."""
        return self.active + self.retired

    def with_shards(self, shards: int, now_ms: int) -> "Registration":
        """The same with another number of active shards."""
        active = shard_numbers(self.survey.name, self.survey.tag8, shards, self.numbers)
        if set(active) == set(self.active):
            return self
        history = [*(self.dealt or [(0, self.active)]), (now_ms + LATER_MS, active)]
        while len(history) > 1 and history[1][0] < now_ms - FORGET_MS:
            del history[0]
        retired = tuple(number for number in self.numbers if number not in active)
        return replace(self, active=active, retired=retired, dealt=tuple(history))

    def for_request(self, time_ms: int, random: int) -> int:
        """The shard of a request: the same for every copy of it, whichever gateway meets it and when."""
        numbers = self.active
        if self.dealt:
            numbers = next((each for at, each in reversed(self.dealt) if at <= time_ms), self.dealt[0][1])
        return numbers[random % len(numbers)]

    def record(self) -> bytes:
        """As it is stored; numbers from 0 on as releases up to 0.2.0 read them."""
        table: dict[str, Any] = {"survey": self.survey.canonical(), "shards": len(self.active)}
        if self.retired or self.dealt or self.active != tuple(range(len(self.active))):
            table |= {"shards": self.active, "retired": self.retired, "dealt": self.dealt}
        if self.survey.reason is not None:
            table["reason"] = self.survey.reason
        return json.dumps(table, sort_keys=True).encode()

    @classmethod
    def parse(cls, record: bytes) -> Self:
        """What the registry holds; a record of another program must not stop the other surveys."""
        try:
            table = json.loads(record)
            survey, reason, shards = parse(table["survey"]), table.get("reason"), table["shards"]
            retired, dealt = table.get("retired", []), table.get("dealt", [])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise SurveyError("the registry's record of this survey cannot be read") from None
        if type(shards) is int and 1 <= shards <= MAXIMUM_SHARDS:
            shards = list(range(shards))
        if not _are_numbers(shards) or not 1 <= len(shards) <= MAXIMUM_SHARDS:
            raise SurveyError(what="shards", expected=f"in 1..{MAXIMUM_SHARDS}", got=repr(shards))
        try:
            history = tuple((int(at), tuple(numbers)) for at, numbers in dealt)
            known = {*shards, *retired}
            are_known = all(numbers and known.issuperset(numbers) for _, numbers in history)
        except (ValueError, TypeError):
            are_known = False
        if not are_known or not _are_numbers([*shards, *retired]):
            raise SurveyError("the registry's record of this survey names shards that cannot be")
        survey = replace(survey, reason=reason if isinstance(reason, str) else None)
        return cls(survey, tuple(shards), tuple(retired), history)


def _are_numbers(numbers: Sequence[Any]) -> bool:
    """Whether these are different numbers of shards."""
    if not isinstance(numbers, list) or not all(type(each) is int and 0 <= each < MAXIMUM_NUMBER for each in numbers):
        return False
    return len(set(numbers)) == len(numbers)
