"""Every way in which a form's draws can come out, each with its exact probability."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from hearsay.producer.portable.form import Form
from hearsay.producer.portable.words import WORD, Words


class Branch(Words):
    """Follows the given outcomes, then takes the first possible one of every further draw."""

    def __init__(self, outcomes: Sequence[int]) -> None:
        self.outcomes, self.position = list(outcomes), 0
        self.sizes: list[int] = []
        self.chance = Fraction(1)

    def _next(self, chances: list[Fraction]) -> int:
        if self.position == len(self.outcomes):
            self.outcomes.append(0)
        outcome = self.outcomes[self.position]
        self.position += 1
        self.sizes.append(len(chances))
        self.chance *= chances[outcome]
        return outcome

    def coins(self, thresholds: Sequence[int]) -> list[bool]:
        chances = [Fraction(threshold, WORD) for threshold in thresholds]
        return [self._next([1 - chance, chance]) == 1 for chance in chances]

    def choose(self, ends: Sequence[int]) -> int:
        return self._next([Fraction(end - begin, WORD) for begin, end in pairwise((0, *ends, WORD))])

    def below(self, bound: int) -> int:
        return self._next([Fraction(1, bound)] * bound)


def distribution(form: Form, cell: int) -> dict[bytes, Fraction]:
    """The exact probability of every report of a cell."""
    chances: Counter[bytes] = Counter()
    outcomes: list[int] = []
    while True:
        branch = Branch(outcomes)
        chances[form.report_cell(cell, branch)] += branch.chance  # type: ignore[assignment]
        outcomes = branch.outcomes
        while outcomes and outcomes[-1] == branch.sizes[len(outcomes) - 1] - 1:
            outcomes.pop()
        if not outcomes:
            return dict(chances)  # type: ignore[arg-type]
        outcomes[-1] += 1
