"""One level of a hierarchy as a survey spells it out."""

import re
from typing import Any, NamedTuple

from hearsay.mechanisms.errors import SpecificationError

ORACLES = ("grr", "ss", "oue", "olh", "hrr")
PARTS = 4096  # probabilities are multiples of 1/PARTS, so that every machine derives the same ones
MOST_OFFSETS = 64
_NUMBERED = r"olh-[1-9][0-9]?(?:-[1-9][0-9]{0,4})?"  # with its t, and how many buckets it names
_PATTERN = re.compile(rf"([0-9]{{1,7}}) ({'|'.join(ORACLES)}|{_NUMBERED}) ([0-9]{{1,4}})(?: at ([0-9]{{1,2}}))?")


class PlannedLevel(NamedTuple):
    """From the root down: children of a node above, the oracle, its parts of all devices, and how its nodes lie."""

    fanout: int
    oracle: str
    parts: int
    offsets: int = 1

    def __str__(self) -> str:
        offsets = f" at {self.offsets}" if self.offsets > 1 else ""
        return f"{self.fanout} {self.oracle} {self.parts}{offsets}"

    @classmethod
    def parse(cls, text: Any) -> "PlannedLevel":
        """The inverse of `str`."""
        match = _PATTERN.fullmatch(text) if isinstance(text, str) else None
        if match is not None:
            fanout, oracle, parts, offsets = match.groups()
            made = cls(int(fanout), oracle, int(parts), int(offsets or 1))
            if made.fanout >= 2 and 1 <= made.parts <= PARTS and 1 <= made.offsets <= MOST_OFFSETS:
                return made
        raise SpecificationError(
            what="options.levels",
            must='hold texts like "4 olh 512" or "2 grr 200 at 4" (fan-out, oracle, parts of the devices, offsets)',
            got=repr(text),
        )


Plan = tuple[PlannedLevel, ...]
