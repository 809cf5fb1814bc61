"""`hearsay simulate --mode`: answer a range in one of the collector modes, with its memory and time."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from hearsay.collector.errors import SurveyError
from hearsay.collector.survey.survey import Survey
from hearsay.collector.wire.codec import codec
from hearsay.collector.wire.decode import decode
from hearsay.mechanisms.domains.domain import Values
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.estimate import Measured
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.layout import Reports
from hearsay.mechanisms.metric.collector_modes import Answered, KeptReports, ModeEstimate, SingleFrequencies
from hearsay.mechanisms.metric.l1 import MetricL1Signs
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.questions import answer, check_reports, parse_text
from hearsay.producer.fleet import frames


@dataclass(frozen=True)
class ModeAnswer:
    """A range's answer, the bytes kept for it, and the seconds to fold the reports and to answer."""

    mode: str
    reports: int
    answers: list[Answer]
    kept_bytes: int
    fold_s: float
    query_s: float

    def table(self) -> dict[str, Any]:
        return {
            "mode": self.mode,
            "reports": self.reports,
            "kept_bytes": self.kept_bytes,
            "fold_s": self.fold_s,
            "query_s": self.query_s,
            "answers": [each.table() for each in self.answers],
        }


def answer_by_mode(survey: Survey, cells: Values, random: Random, mode: str, question: str) -> ModeAnswer:
    """Simulate every device and answer one range in the given mode."""
    mechanism = survey.mechanism
    # The forms with weights are subclasses, whose reports hold more than signs.
    if type(mechanism) is not MetricL1Signs:
        got = f"{mechanism.ID} with weights" if isinstance(mechanism, MetricL1Signs) else mechanism.ID
        raise SurveyError(f"--mode needs a survey under metric-l1 without weights, got {got}")
    query = parse_text(question)
    if query.verb not in ("range", "prefix"):
        raise QueryError(what="--ask", expected="a range or a prefix with --mode", got=query.verb)
    check_reports(len(cells), survey.minimum_reports)
    wire = codec(mechanism)
    decoded = [
        decode(mechanism, [{b"f": payload}], wire).reports for payload, _ in frames(mechanism, wire, cells, random)
    ]
    started = perf_counter()
    estimate, kept = _KEEP[mode](mechanism, decoded)
    folded = perf_counter()
    answers = answer(query, estimate)
    return ModeAnswer(mode, estimate.reports, answers, kept, folded - started, perf_counter() - folded)


def _prefix_sums(mechanism: MetricL1Signs, reports: list[Reports]) -> tuple[CellEstimate, int]:
    state = mechanism.empty()
    for each in reports:
        mechanism.fold(state, each)
    return mechanism.estimate(state), sum(array.nbytes for array in state.values())


def _single_frequencies(mechanism: MetricL1Signs, reports: list[Reports]) -> tuple[CellEstimate, int]:
    estimate, _ = _prefix_sums(mechanism, reports)
    kept = SingleFrequencies(estimate.estimate)
    # A sum of cells has no standard error: the correlations of the cells' errors are not kept.
    return _as_estimate(estimate, lambda low, high: Measured.without_error(kept.ranges(low, high))), kept.shares.nbytes


def _on_the_fly(mechanism: MetricL1Signs, reports: list[Reports]) -> tuple[CellEstimate, int]:
    kept = KeptReports(mechanism, np.concatenate([each["bits"] for each in reports]))
    unknown = np.full(mechanism.domain.shape, np.nan)
    estimate = CellEstimate(mechanism.domain, len(kept.bits), unknown, unknown)
    return _as_estimate(estimate, kept.ranges), kept.bits.nbytes


def _as_estimate(known: CellEstimate, answered: Answered) -> ModeEstimate:
    return ModeEstimate(known.domain, known.reports, known.estimate, known.stderr, answered)


_KEEP = {"prefix-sums": _prefix_sums, "single-frequencies": _single_frequencies, "on-the-fly": _on_the_fly}
