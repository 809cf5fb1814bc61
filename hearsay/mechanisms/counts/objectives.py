"""What a mechanism for counts should be good at: an expected or a worst loss (Kulkarni definition 21).

L0, L1, L2     probability of a wrong output, mean absolute error, mean squared error
L0,d L1,d L2,d the same, where only outputs more than d away count
max-...        the worst input's loss instead of the average over inputs

Averages are over inputs with given weights, equal ones by default. L0 and L0,d are scaled by (n+1)/n, which gives the
uniform mechanism an L0 of 1 (6.1). A workload of questions q about the count replaces |i-j|^p by the sum of
weight |q(i) - q(j)|^p: what the answers to those questions lose.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from re import fullmatch

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.counts.promise import Table
from hearsay.mechanisms.errors import SpecificationError

Floats = NDArray[np.float64]
GRAMMAR = "L0, L1 or L2, after which ,D counts only errors above D, and before which max- asks for the worst input"
QUESTIONS = "mean, at-least:K, at-most:K or exactly:K, each with *WEIGHT after it where it counts more or less"


@dataclass(frozen=True)
class Question:
    """A function of the count and how much it matters."""

    values: tuple[float, ...]
    weight: float = 1.0


@dataclass(frozen=True)
class Objective:
    """A loss per pair of output and input, and whether its average or its maximum over inputs counts."""

    power: int = 0
    beyond: int = 0
    worst: bool = False
    workload: tuple[Question, ...] = ()

    @classmethod
    def parse(cls, name: str, workload: Sequence[str] = (), largest: int = 0) -> "Objective":
        """An objective by its name, with a workload for counts 0..largest where one is given."""
        match = fullmatch(r"(max-)?L([012])(?:,(\d{1,3}))?", name)
        if match is None:
            raise SpecificationError(what="options.objective", expected=GRAMMAR, ending=f"; got {name!r}")
        beyond = int(match[3] or 0)
        if beyond and workload:
            raise SpecificationError(
                what="options.objective", expected="without a distance beside a workload", got=repr(name)
            )
        return cls(int(match[2]), beyond, match[1] is not None, tuple(_question(word, largest) for word in workload))

    @property
    def name(self) -> str:
        return f"{'max-' * self.worst}L{self.power}{f',{self.beyond}' * bool(self.beyond)}"

    def losses(self, largest: int) -> Floats:
        """The loss of output i where the input is j."""
        counts = np.arange(largest + 1, dtype=np.float64)
        if self.workload:
            return np.sum([question.weight * self._loss(np.array(question.values)) for question in self.workload], 0)
        return self._loss(counts) * (np.abs(counts[:, None] - counts) > self.beyond)

    def score(self, matrix: Table, weights: Floats | None = None) -> float:
        """The loss of a matrix of probabilities."""
        matrix = matrix.astype(np.float64)
        largest = len(matrix) - 1
        per_input = (self.losses(largest) * matrix).sum(axis=0) * self.scale(largest)
        shares = normalised(weights, largest)
        return float((per_input * shares * (largest + 1)).max() if self.worst else per_input @ shares)

    def scale(self, largest: int) -> float:
        """(n+1)/n for the average of L0 and L0,d, else 1."""
        return (largest + 1) / largest if self.power == 0 and not self.worst and not self.workload else 1.0

    def symmetric(self, largest: int) -> bool:
        """Whether counting from the other end makes no difference."""
        losses = self.losses(largest)
        return np.array_equal(losses, losses[::-1, ::-1])

    def _loss(self, values: Floats) -> Floats:
        apart = np.abs(values[:, None] - values)
        return (apart > 0).astype(np.float64) if self.power == 0 else apart**self.power


def normalised(weights: Floats | Sequence[float] | None, largest: int) -> Floats:
    """Weights of the inputs that sum to one; equal ones where none are given."""
    if weights is None:
        return np.full(largest + 1, 1 / (largest + 1))
    shares = np.asarray(weights, dtype=np.float64)
    return shares / shares.sum()


def _question(word: str, largest: int) -> Question:
    match = fullmatch(r"(mean|(at-least|at-most|exactly):(\d{1,3}))(?:\*(\d+(?:\.\d+)?))?", word)
    if match is None:
        raise SpecificationError(what="options.workload", must=f"have questions {QUESTIONS}", ending=f"; got {word!r}")
    weight = float(match[4] or 1)
    counts = np.arange(largest + 1)
    if match[1] == "mean":
        return Question(tuple(map(float, counts)), weight)
    bound = int(match[3])
    if bound > largest:
        raise SpecificationError(what="options.workload", must=f"ask about counts in 0..{largest}", got=repr(word))
    inside = {"at-least": counts >= bound, "at-most": counts <= bound, "exactly": counts == bound}[match[2]]
    return Question(tuple(map(float, inside)), weight)
