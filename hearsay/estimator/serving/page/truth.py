"""The truth of simulated people, for demonstrations alone: a real survey has nothing to put here.

A file `NAME.npy` in the directory holds how many people had each cell; a chart of such a survey gets a thin line.
"""

from pathlib import Path
from typing import Any

import numpy as np

from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.cells import ExactCells
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.questions import Question, answer, parse_text


class Truth:
    """Answers the same question from the people themselves."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, domain: Any, name: str, question: Question, answers: list[Answer]) -> dict[str, Any]:
        """`truth`: the true value of each answer; nothing where none was handed over."""
        path = self._folder / f"{name}.npy"
        if not isinstance(domain, Cells) or not path.is_file():
            return {}
        counts = np.load(path, allow_pickle=False)
        if counts.shape != domain.shape or not counts.sum():
            return {}
        exact = ExactCells(domain, int(counts.sum()), counts / counts.sum(), np.zeros(domain.shape))
        try:
            return {"truth": [each.value for each in answer(_as_drawn(question, answers, domain), exact)]}
        except QueryError:
            return {}


def _as_drawn(question: Question, answers: list[Answer], domain: Cells) -> Question:
    """A histogram without numbers is asked again with those that were drawn: the truth has no noise to follow."""
    if question.verb != "histogram" or question.arguments:
        return question
    if len(domain.axes) == 1:
        return parse_text(f"histogram {len(answers)}")
    along = [len({str((each.cell or {})[axis.name]) for each in answers}) for axis in domain.axes]
    return parse_text("histogram " + " ".join(str(number) for number in along))
