"""A matrix of integers out of 2^64 as a short text, for the canonical survey.

Devices then need no solver, and two machines cannot disagree. Entries are 8 bytes each, big end first, column by
column, in base 64 for names of files and URLs, without padding. A matrix that is the same from the other end (P[i, j]
= P[n-i, n-j]) gives the first half of its entries only: the length tells. Counts up to 64 take at most 23 KB so.
"""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode

import numpy as np

from hearsay.mechanisms.counts.promise import Table
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.exact.randomness import WORD


def pack(whole: Table) -> str:
    """The matrix as text."""
    entries = whole.T.ravel()
    if (entries == entries[::-1]).all():
        entries = entries[: _half(entries.size)]
    # An output that is always given has 2^64 itself, one more than 8 bytes hold: the others' zeros tell.
    return _text(np.minimum(entries, WORD - 1).astype(np.uint64).astype(">u8").tobytes())


def unpack(text: str, largest: int) -> Table:
    """The matrix for counts 0..largest from its text; refuses what is none, or has columns that do not sum to 2^64."""
    side = largest + 1
    try:
        blob = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        blob = b""
    if len(blob) not in (8 * side**2, 8 * _half(side**2)) or _text(blob) != text:
        raise SpecificationError(
            what="options.matrix",
            expected=f"the text that a canonical survey has for counts 0..{largest}",
            got=f"{len(text)} characters that are not",
        )
    entries = [int(entry) for entry in np.frombuffer(blob, dtype=">u8")]
    if len(entries) < side**2:
        entries += entries[: side**2 // 2][::-1]
    whole = np.array(entries, dtype=object).reshape(side, side).T
    always = whole.max(axis=0) == WORD - 1
    whole[:, always] += (whole[:, always] == WORD - 1) * (WORD - whole[:, always].sum(axis=0))
    if (whole.sum(axis=0) != WORD).any():
        raise SpecificationError(what="options.matrix", must="have columns that sum to 2^64")
    return whole


def _text(blob: bytes) -> str:
    """Bytes as the text that stands for them; no other text does."""
    return urlsafe_b64encode(blob).decode().rstrip("=")


def _half(size: int) -> int:
    return (size + 1) // 2
