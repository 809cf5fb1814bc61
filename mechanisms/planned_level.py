"""One level of a hierarchy as a survey spells it out."""

from typing import Any, NamedTuple

from mechanisms.errors import SpecificationError

ORACLES = ("grr", "ss", "oue", "olh", "hrr")
PARTS = 4096  # probabilities are multiples of 1/PARTS, so that every machine derives the same ones
MOST_OFFSETS = 64


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
        words = text.split() if isinstance(text, str) else []
        if len(words) == 5 and words[3] == "at":
            del words[3]
        numbers = [word for index, word in enumerate(words) if index != 1]
        if len(words) in (3, 4) and all(map(str.isdecimal, numbers)) and words[1] in ORACLES:
            made = cls(int(words[0]), words[1], *map(int, words[2:]))
            if made.fanout >= 2 and 1 <= made.parts <= PARTS and 1 <= made.offsets <= MOST_OFFSETS:
                return made
        raise SpecificationError(
            'options.levels must hold texts like "4 olh 512" or "2 grr 200 at 4" (fan-out, oracle, parts of the '
            f"devices, offsets), got {text!r}"
        )


Plan = tuple[PlannedLevel, ...]
