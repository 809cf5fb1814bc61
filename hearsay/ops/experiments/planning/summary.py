"""One row for every mechanism, as the page on planning shows them."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from hearsay.ops.experiments.output import Result

COLUMNS = [
    *("mechanism", "domain", "from the expected state", "least", "largest", "from drawn surveys", "least", "largest"),
    *("not wider than within_90", "beyond", "off", "settings", "runs"),
]


def by_mechanism(rows: Sequence[Sequence[Any]]) -> Result:
    """Of rows for every question (`command`): the extremes over its questions, apart for both ways of planning."""
    result = Result("planning-mechanisms", "Predicted over simulated median half width, by mechanism", COLUMNS, [])
    for (mechanism, kind), group in groupby(rows, lambda row: (row[0], row[1])):
        questions = list(group)
        state, surveys = ([row for row in questions if row[3] == way] for way in ("state", "surveys"))
        narrower = [int(row[6]) for row in surveys]
        sums = [sum(row[column] for row in questions) for column in (8, 9, 7)]
        span = f"{min(narrower)}-{max(narrower)}%" if narrower else ""
        result.rows.append([mechanism, kind, *_extremes(state), *_extremes(surveys), span, *sums, questions[0][10]])
    return result


def _extremes(questions: list[Sequence[Any]]) -> Iterator[str]:
    yield ", ".join(row[2].split()[0] for row in questions)
    yield min((row[4] for row in questions), key=float, default="")
    yield max((row[5] for row in questions), key=float, default="")
