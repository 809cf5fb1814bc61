"""Words that a test gives, so that it knows the bytes of a report."""

from collections.abc import Sequence

from hearsay.producer.portable.words import Words


class GivenWords(Words):
    """Words from a list; they protect nobody."""

    def __init__(self, words: Sequence[int]) -> None:
        self._left = list(words)

    def take(self, count: int) -> list[int]:
        if count > len(self._left):
            raise ValueError(f"words must be at least {count} more, got {len(self._left)}")
        taken, self._left = self._left[:count], self._left[count:]
        return taken

    @property
    def left(self) -> int:
        """How many words were not drawn."""
        return len(self._left)
