"""What a device draws from: 64-bit words of the operating system's secure source, and nothing else.

Every coin takes a whole word whatever the value is, so that neither time nor the number of words tells anything about
it. Words are never kept for later: after a fork, two processes would draw the same.
"""

import os
from bisect import bisect_right
from collections.abc import Sequence

WORD = 1 << 64


class Words:
    """Coins, choices and uniform integers from secure words."""

    def take(self, count: int) -> list[int]:
        """The next words."""
        drawn = os.urandom(8 * count)
        return [int.from_bytes(drawn[start : start + 8], "little") for start in range(0, 8 * count, 8)]

    def coins(self, thresholds: Sequence[int]) -> list[bool]:
        """A coin for each threshold, which comes up with chance threshold/2^64."""
        return [word < threshold for word, threshold in zip(self.take(len(thresholds)), thresholds, strict=True)]

    def coin(self, threshold: int) -> bool:
        return self.coins([threshold])[0]

    def choose(self, ends: Sequence[int]) -> int:
        """How many of the rising ends the word reaches: choice i has the words from end i - 1 up to before end i."""
        return bisect_right(ends, self.take(1)[0])

    def below(self, bound: int) -> int:
        """A uniform integer below `bound`: words in the last, incomplete run of `bound` words are drawn again."""
        end = WORD - WORD % bound
        while (word := self.take(1)[0]) >= end:
            pass
        return word % bound
