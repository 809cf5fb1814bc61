"""A survey in words and numbers: definition, promise to the devices, error to expect."""

from collections.abc import Sequence
from math import ceil
from typing import Any

from hearsay.collector.errors import SurveyError
from hearsay.collector.survey.survey import Survey
from hearsay.collector.wire.codec import codec
from hearsay.collector.wire.sizes import frame_bytes, single_bytes
from hearsay.mechanisms.base import Mechanism
from hearsay.mechanisms.guarantees.promises import PureLDP, in_sequence
from hearsay.mechanisms.guarantees.shuffling import shuffled_epsilon
from hearsay.mechanisms.planning.better import better_choice

EXAMPLE_REPORTS = (10_000, 1_000_000)
FRAME_REPORTS = 1_000
USUAL_EPSILON = 10.0  # beyond it a remark is made: one report tells its value almost surely
_MOST_OF = 0.95


def describe(survey: Survey) -> dict[str, Any]:
    """What `survey show` prints."""
    mechanism, wire = survey.mechanism, codec(survey.mechanism)
    by_value = mechanism.guarantee.protection(mechanism.domain)
    advice, picture = [*mechanism.advice(survey.postprocess), *_on_the_minimum(survey)], mechanism.picture()
    return {
        "name": survey.name,
        "tag": survey.tag,
        "definition": survey.canonical(),
        **({} if survey.reason is None else {"reason": survey.reason}),
        **({} if not mechanism.choices() else {"choices": mechanism.choices()}),
        "guarantee": {**mechanism.guarantee.table(), "words": mechanism.guarantee.words()},
        "participation": _participation(survey),
        "promise": _promise(survey),
        **({} if by_value is None else {"protection": by_value.table()}),
        **({} if not advice else {"advice": advice}),
        **({} if (remarks := remarks_on(survey)) == [] else {"remarks": remarks}),
        **mechanism.facts(),
        **({} if not picture else {mechanism.PICTURE: picture}),
        "cells": mechanism.domain.size,
        "report_bytes": single_bytes(wire),
        "report_bytes_in_frames": ceil(100 * frame_bytes(wire, FRAME_REPORTS) / FRAME_REPORTS) / 100,
        "state_bytes": 8 * sum(array.size for array in mechanism.empty().values()),
        "predicted_stderr": {str(reports): _predicted(mechanism, reports) for reports in EXAMPLE_REPORTS},
    }


def _participation(survey: Survey) -> dict[str, Any]:
    return survey.participation.describe(survey.epsilon, survey.windows, survey.mechanism.memoised_buckets)


def _promise(survey: Survey) -> list[str]:
    """What is promised to a device: of one report, of all rounds, and how often it takes part."""
    rounds, takes_part = survey.mechanism.rounds, _participation(survey)
    return [
        survey.mechanism.guarantee.words(),
        *([f"It holds for a device's answers in up to {rounds} rounds together."] if survey.windows.in_rounds else []),
        takes_part["words"],
        *([f"Warning: {takes_part['warning']}."] if "warning" in takes_part else []),
    ]


def _predicted(mechanism: Mechanism, reports: int) -> dict[str, float]:
    """By kind of query, in the unit of its answers."""
    in_units = mechanism.domain.in_units
    return {question: in_units(question, stderr) for question, stderr in mechanism.predicted_stderr(reports).items()}


def remarks_on(survey: Survey) -> list[str]:
    """What is allowed and still unwise: an epsilon that hides nothing, a mechanism with more error than another."""
    remarks = []
    if isinstance(survey.mechanism.guarantee, PureLDP) and survey.epsilon > USUAL_EPSILON:
        remarks.append(
            f"epsilon {survey.epsilon:g} protects next to nothing: a report may be e^{survey.epsilon:g} times likelier "
            f"under one value than under another; 0.5 to 4 are usual"
        )
    spent = survey.mechanism.spent_epsilon
    if survey.mechanism.options.get("table") is not None and spent < _MOST_OF * survey.epsilon:
        remarks.append(
            f"options.table was made for epsilon {spent:.3g}, and reports spend no more; without it one is made for "
            f"epsilon {survey.epsilon:g}, with less error"
        )
    if (other := better_choice(survey.mechanism)) is not None:
        remarks.append(other)
    return remarks


def _on_the_minimum(survey: Survey) -> list[str]:
    """What the least number of reports does, and what it does not."""
    if survey.minimum_reports <= 1:
        return []
    return [
        f"answers.minimum_reports = {survey.minimum_reports} withholds answers from few reports; it hides no report. "
        "Whoever sees the answers before and after a report learns from their difference what that report says. A "
        "report is protected by epsilon alone, as well as the guarantee says."
    ]


def amplified(survey: Survey, reports: int, delta: float) -> dict[str, Any]:
    """What one report is promised once it was shuffled among others; only a pure epsilon is amplified this way."""
    guarantee = survey.mechanism.guarantee
    if not isinstance(guarantee, PureLDP):
        raise SurveyError(
            f"shuffled needs pure local differential privacy; {survey.mechanism.ID} promises something else"
        )
    epsilon = shuffled_epsilon(guarantee.epsilon, reports, delta)
    words = (
        f"A report that was shuffled with {reports - 1:,} others has epsilon {epsilon:.4g} with delta {delta:g}. "
        "Against readers of answers the others are all reports of a window; against readers of Redis only those of "
        "one flush of the gateway."
    )
    return {"reports": reports, "delta": delta, "epsilon": epsilon, "words": words}


def composed(surveys: Sequence[Survey]) -> dict[str, Any]:
    """What is promised to a device that takes part in several surveys about the same value: the bounds add."""
    first, *others = (survey.mechanism.domain for survey in surveys)
    for survey, domain in zip(surveys[1:], others, strict=True):
        if domain != first:
            raise SurveyError(
                what="surveys shown together",
                must="have the same domain",
                got=f"another one in {survey.name} than in {surveys[0].name}",
            )
    together = in_sequence(*(survey.mechanism.guarantee for survey in surveys))
    return {
        "surveys": [survey.name for survey in surveys],
        "guarantee": {**together.table(), "words": together.words()},
    }


def predicted_rows(description: dict[str, Any]) -> list[list[Any]]:
    """Rows of (reports, kind of query, standard error)."""
    return [
        [int(reports), kind, stderr]
        for reports, kinds in description["predicted_stderr"].items()
        for kind, stderr in kinds.items()
    ]
