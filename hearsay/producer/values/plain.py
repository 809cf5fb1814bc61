"""Plain rows by numpy, a million at a time: no quoted cells, no blanks, numbers of digits with a decimal point.

`columns` gives None where a chunk is not that plain; the reader then takes it row by row, with the same result. Eight
digits are read as one 64-bit word: three multiplications add neighbouring digits, then pairs, then fours. A decimal is
the ratio of two integers below 2^53 and a power of ten, which is rounded once, as Python's `float` rounds it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.columns import Coded, ColumnCells, Labels

_NEWLINE, _COMMA, _POINT, _MINUS = b"\n,.-"
_WORD = 8  # bytes
_MOST_DIGITS = 15  # integers of so many digits are exact as doubles
_LONGEST_LABEL = 64  # bytes
_PAD = b"0" * _LONGEST_LABEL  # words at the ends of a chunk reach over it
_Places = NDArray[np.int64]
_Words = NDArray[np.uint64]


def _word(text: str) -> np.uint64:
    return np.uint64(int(text, 16))


_ZEROS = _word("30" * _WORD)  # eight digits 0
_HIGH_HALVES, _SIXES, _LOW_HALVES = _word("F0" * _WORD), _word("06" * _WORD), _word("0F" * _WORD)
_LAST_BYTES = np.array([((1 << 64) - 1) << (8 * (_WORD - kept)) & ((1 << 64) - 1) for kept in range(9)], np.uint64)
_FIRST_BYTES = np.array([(1 << 8 * kept) - 1 for kept in range(9)], np.uint64)
_POWERS = np.array([10**digits for digits in range(_MOST_DIGITS + 1)], np.uint64)
_MULTIPLIERS = np.array([0x9E3779B97F4A7C15 * (2 * odd + 1) % (1 << 64) for odd in range(9)], np.uint64)


def columns(chunk: bytes, cells: int, wanted: Sequence[tuple[int, ColumnCells]]) -> list[Any] | None:
    """Of rows of so many cells those of the columns wanted, each with its number: doubles, or codes of labels.

    The chunk ends with a newline. None: not all rows are plain.
    """
    if any(form is None for _, form in wanted) or b'"' in chunk or (cells == 1 and b"," in chunk):
        return None
    if b"\r" in chunk:
        chunk = chunk.replace(b"\r\n", b"\n")
        if b"\r" in chunk:
            return None
    octets = np.frombuffer(_PAD + chunk + _PAD, np.uint8)
    words: _Words = np.ndarray((len(octets) - _WORD + 1,), "<u8", octets, 0, (1,))
    table = _Table.of(octets, cells)
    if table is None:
        return None
    read = []
    for number, form in wanted:
        starts, ends, points = table.column(number)
        column = (
            _codes(words, starts, ends, form.texts)
            if isinstance(form, Labels)
            else _numbers(octets, words, starts, ends, points)
        )
        if column is None:
            return None
        read.append(column)
    return read


class _Table:
    """Where the cells of a chunk begin and end, and where the last point in each is (its end where there is none)."""

    def __init__(self, starts: _Places, ends: _Places, points: _Places) -> None:
        self._starts, self._ends, self._points = starts, ends, points

    @classmethod
    def of(cls, octets: NDArray[np.uint8], cells: int) -> "_Table | None":
        """None: not every row has so many cells, or a row is blank."""
        marks = octets == _NEWLINE
        if cells > 1:
            marks |= octets == _COMMA
        dots = octets == _POINT
        if dots.any():
            tokens = np.flatnonzero(marks | dots)
            is_dot = dots[tokens]
            ends_at = np.flatnonzero(~is_dot)
            ends = tokens[ends_at]
            before = np.maximum(ends_at - 1, 0)
            points = np.where(is_dot[before], tokens[before], ends)
        else:
            points = ends = np.flatnonzero(marks)
        if len(ends) == 0 or len(ends) % cells:
            return None
        starts = np.empty_like(ends)
        starts[0], starts[1:] = len(_PAD), ends[:-1] + 1
        rows = ends.reshape(-1, cells)
        if cells > 1 and ((octets[rows[:, -1]] != _NEWLINE).any() or (octets[rows[:, :-1]] != _COMMA).any()):
            return None
        if cells == 1 and (starts == ends).any():
            return None
        return cls(starts.reshape(rows.shape), rows, points.reshape(rows.shape))

    def column(self, number: int) -> tuple[_Places, _Places, _Places]:
        return self._starts[:, number], self._ends[:, number], self._points[:, number]


def _numbers(
    octets: NDArray[np.uint8], words: _Words, starts: _Places, ends: _Places, points: _Places
) -> NDArray[np.float64] | None:
    """Cells as doubles; None where one is not just digits, with a minus before and a point among them at most."""
    negative = octets[starts] == _MINUS
    if negative.any():
        magnitude = _magnitudes(words, starts + negative, ends, points)
        return None if magnitude is None else np.where(negative, -magnitude, magnitude)
    return _magnitudes(words, starts, ends, points)


def _magnitudes(words: _Words, starts: _Places, ends: _Places, points: _Places) -> NDArray[np.float64] | None:
    has_point = points < ends
    digits = ends - starts - has_point
    if digits.min() < 1 or digits.max() > _MOST_DIGITS:
        return None
    whole = _integers(words, starts, points)
    if whole is None or not has_point.any():
        return None if whole is None else whole.astype(np.float64)
    decimals = ends - points - has_point
    fraction = _integers(words, ends - decimals, ends)
    if fraction is None:
        return None
    powers = _POWERS[decimals]
    return (whole * powers + fraction).astype(np.float64) / powers.astype(np.float64)


def _integers(words: _Words, starts: _Places, ends: _Places) -> _Words | None:
    """The integers in octets start..end, of at most 16 digits; None where something else is there."""
    if (ends - starts).max() <= _WORD:
        return _eight_digits(words, starts, ends)
    middle = np.maximum(starts, ends - _WORD)
    low = _eight_digits(words, middle, ends)
    if low is None:
        return None
    high = _eight_digits(words, starts, middle)
    return None if high is None else high * np.uint64(10**_WORD) + low


def _eight_digits(words: _Words, starts: _Places, ends: _Places) -> _Words | None:
    kept = _LAST_BYTES[ends - starts]
    word = (words[ends - _WORD] & kept) | (_ZEROS & ~kept)
    if (((word & _HIGH_HALVES) != _ZEROS) | (((word + _SIXES) & _HIGH_HALVES) != _ZEROS)).any():
        return None  # an octet is not from 0x30 to 0x39
    word &= _LOW_HALVES
    word = (word * np.uint64(10 * 2**8 + 1)) >> np.uint64(8) & _word("00FF" * 4)
    word = (word * np.uint64(100 * 2**16 + 1)) >> np.uint64(16) & _word("0000FFFF" * 2)
    return (word * np.uint64(10_000 * 2**32 + 1)) >> np.uint64(32)


def _codes(words: _Words, starts: _Places, ends: _Places, labels: tuple[str, ...]) -> Coded | None:
    """The number of each cell's label; -1: another text. None where labels are too long, or two have one hash."""
    known = [label.encode() for label in labels]
    longest = max(map(len, known))
    if longest > _LONGEST_LABEL:
        return None
    count = -(-longest // _WORD)
    joined = np.frombuffer(b"".join(known) + _PAD, np.uint8)
    lengths = np.array([len(label) for label in known])
    label_words: _Words = np.ndarray((len(joined) - _WORD + 1,), "<u8", joined, 0, (1,))
    listed = _as_words(label_words, np.cumsum(lengths) - lengths, lengths, count)
    hashes = _hashed(listed, lengths)
    order = np.argsort(hashes)
    if (np.diff(hashes[order]) == 0).any():
        return None
    given_lengths = ends - starts
    cells = _as_words(words, starts, given_lengths, count)
    codes = order[np.minimum(np.searchsorted(hashes[order], _hashed(cells, given_lengths)), len(known) - 1)]
    same = lengths[codes] == given_lengths
    for cell_word, label_word in zip(cells, listed, strict=True):
        same &= cell_word == label_word[codes]
    return Coded(np.where(same, codes, -1), labels)


def _as_words(words: _Words, starts: _Places, lengths: _Places, count: int) -> list[_Words]:
    """The first `count` words of texts; octets behind a text's end are zero."""
    return [
        words[np.minimum(starts + _WORD * number, len(words) - 1)]
        & _FIRST_BYTES[np.clip(lengths - _WORD * number, 0, _WORD)]
        for number in range(count)
    ]


def _hashed(texts: list[_Words], lengths: _Places) -> _Words:
    mixed: _Words = lengths.astype(np.uint64) * _MULTIPLIERS[0]
    for number, word in enumerate(texts, start=1):
        mixed = mixed ^ ((word ^ (word >> np.uint64(32))) * _MULTIPLIERS[number])
    return mixed
