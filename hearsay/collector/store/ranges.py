"""A range: consecutive entries of a stream that one job folds."""

from dataclasses import dataclass

from hearsay.collector.survey.windows import Window, Windows


@dataclass(frozen=True)
class Range:
    """A range in the ledger, as CUT wrote it.

    `first` and `last` are ids of entries, `size` is in bytes. `nonce` distinguishes the range from an earlier one of
    the same number on a server that lost data.
    """

    seq: int
    first: str
    last: str
    entries: int
    size: int
    nonce: str
    attempt: int
    time_ms: int
    window_number: int
    quarantined: bool

    @classmethod
    def parse(cls, seq: bytes | int, record: bytes) -> "Range":
        first, last, entries, size, nonce, attempt, time_ms, window_number, state = record.decode().split()
        return cls(
            int(seq),
            first,
            last,
            int(entries),
            int(size),
            nonce,
            int(attempt),
            int(time_ms),
            int(window_number),
            state == "quarantined",
        )

    def window(self, windows: Windows) -> Window:
        """The window that all its entries belong to."""
        return windows.numbered(self.window_number)
