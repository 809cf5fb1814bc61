"""Which numbers a survey's shards have, so that they spread evenly over the servers of a cluster.

A cluster deals its 16,384 slots to its masters in equal stretches, and the slot of a shard's keys is a hash of its
survey and number. Numbers are therefore chosen: of N shards each lies in its own N-th part of the slots.
"""

from binascii import crc_hqx
from collections.abc import Sequence
from itertools import count

SLOTS = 16_384
_EDGE = 0.1  # of a part at each end: masters' stretches differ by a few slots


def slot(name: str, tag8: str, number: int) -> int:
    """The slot of a shard's keys: CRC16 (XMODEM) of the text between their braces."""
    return crc_hqx(f"{name}.{tag8}.{number}".encode(), 0) % SLOTS


def shard_numbers(name: str, tag8: str, shards: int, known: Sequence[int] = ()) -> tuple[int, ...]:
    """The numbers of so many shards, one for each part of the slots.

    The first of those `known` stays the first: it also holds what is not counted by shard. In the other parts a number
    that is known already is taken before a new one.
    """
    fitting = (number for number in count() if shards == 1 or _is_well_within(name, tag8, shards, number))
    first = known[0] if known else next(fitting)
    taken = {slot(name, tag8, first) * shards // SLOTS: first}
    for number in known[1:]:
        taken.setdefault(slot(name, tag8, number) * shards // SLOTS, number)
    used = {*known, first}
    for part in range(shards):
        if part not in taken:
            taken[part] = _new(name, tag8, shards, part, used)
            used.add(taken[part])
    return (first, *(taken[part] for part in range(shards) if taken[part] != first))


def _new(name: str, tag8: str, shards: int, part: int, used: set[int]) -> int:
    """The smallest number that is not used and lies well within a part."""
    return next(
        number
        for number in count()
        if number not in used
        and slot(name, tag8, number) * shards // SLOTS == part
        and _is_well_within(name, tag8, shards, number)
    )


def _is_well_within(name: str, tag8: str, shards: int, number: int) -> bool:
    return _EDGE <= slot(name, tag8, number) * shards / SLOTS % 1 <= 1 - _EDGE
