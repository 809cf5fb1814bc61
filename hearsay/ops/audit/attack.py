"""Attacks on a pair of values: learn an event from one half of the reports, test it on the other half."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms import Mechanism, Reports
from hearsay.ops.audit.bit_pairs import BitPairs
from hearsay.ops.audit.events import Classes, Distinguisher, best_event, lower_loss, shown_loss

Look = Callable[[int, int], tuple[Classes, Classes]]


class Attack:
    """Uses the content of reports: the classes of a distinguisher, and of bit vectors all bits and pairs of bits."""

    def __init__(self, mechanism: Mechanism, drawn: dict[int, Reports], draws: int) -> None:
        self._learn, self._judge = slice(0, draws // 2), slice(draws // 2, draws)
        pairs = BitPairs(mechanism, drawn, self._learn)
        self._looks: list[Look] = [Distinguisher(mechanism, drawn, self._learn).classes]
        if pairs.any:
            self._looks.append(pairs.classes)

    def shown(self, one: int, other: int, tail: float) -> float:
        """The proved loss of the event that shows the greatest loss in the half to learn from."""
        best, loss = -np.inf, 0.0
        for look in self._looks:
            mine, theirs = look(one, other)
            event = best_event(mine[self._learn], theirs[self._learn], tail)
            hits, other_hits = (np.isin(seen[self._learn], event).sum() for seen in (mine, theirs))
            tries = self._learn.stop
            promised = float(lower_loss(np.array([hits]), tries, np.array([other_hits]), tries, tail)[0])
            if promised > best:
                best, loss = promised, shown_loss(event, mine[self._judge], theirs[self._judge], tail)
        return loss


class Lengths:
    """Uses the lengths of single reports in bytes, which anybody on the network can see."""

    def __init__(self, lengths: dict[int, NDArray[np.int64]], draws: int) -> None:
        self._lengths, self._half = lengths, draws // 2

    def shown(self, one: int, other: int, tail: float) -> float:
        mine, theirs = self._lengths[one], self._lengths[other]
        event = best_event(mine[: self._half], theirs[: self._half], tail)
        return shown_loss(event, mine[self._half :], theirs[self._half :], tail)
