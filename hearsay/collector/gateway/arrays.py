"""Bodies whose reports are all msgpack integers, found and read together: most bodies, at a tenth of the cost.

A body is `array header, (0xC4, length, integer), ...`. Wherever a byte is 0xC4 and what follows is an integer of the
length that stands between, a report may begin. Where the reports so found fill the body without a gap, as many as
its header promises, no other reading of the body is possible. Every other body is left to msgpack.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearsay.collector.wire import integers
from hearsay.mechanisms.layout import Symbols

_BIN = 0xC4
_HEADER_BYTES = {0xDC: 3, 0xDD: 5}  # of an array, by its first byte; of a short one it is the header


class Arrays(NamedTuple):
    """The numbers of all bodies that were read, in order; `counts` is 0 for a body that was not."""

    numbers: Symbols
    counts: NDArray[np.intp]


def read(bodies: Sequence[bytes], claimed: Sequence[int]) -> Arrays:
    """Read what can be read; `claimed` are the counts in the bodies' headers, each at least 1."""
    octets = integers.beside(list(bodies))
    ends = len(integers.MARGIN) + np.cumsum([len(body) for body in bodies])
    begins = np.append(len(integers.MARGIN), ends[:-1])
    promised = np.array(claimed, dtype=np.intp)

    at = np.flatnonzero(octets[: -len(integers.MARGIN)] == _BIN)
    lengths = octets[at + 1]
    possible = integers.LENGTHS[octets[at + 2]] == lengths
    if not possible.all():
        at, lengths = at[possible], lengths[possible]
    after = at + 2 + lengths

    first = np.searchsorted(at, begins)  # of a body's reports
    counts = np.diff(first, append=at.size)
    gaps = np.cumsum(at[1:] != after[:-1])  # before each report but the first, those between bodies included
    gaps = np.append(0, gaps) if at.size else gaps
    good = counts == promised
    (chosen,) = np.nonzero(good)
    one, last = first[chosen], first[chosen] + promised[chosen] - 1
    headers = np.array([_HEADER_BYTES.get(body[0], 1) for body in bodies])
    good[chosen] = (
        (at[one] == begins[chosen] + headers[chosen]) & (after[last] == ends[chosen]) & (gaps[one] == gaps[last])
    )
    if not good.all():
        kept = np.repeat(good, counts)
        after, lengths = after[kept], lengths[kept]
    return Arrays(integers.values(octets, after, lengths), np.where(good, counts, 0))
