"""A survey in words and numbers: definition, promise to the devices, error to expect."""

from typing import Any

from collector.survey import Survey
from collector.wire import codec
from ops.protection import protection

EXAMPLE_REPORTS = (10_000, 1_000_000)


def describe(survey: Survey) -> dict[str, Any]:
    """What `survey show` prints."""
    mechanism = survey.mechanism
    by_value = protection(mechanism)
    return {
        "name": survey.name,
        "tag": survey.tag,
        "definition": survey.canonical(),
        **({} if survey.reason is None else {"reason": survey.reason}),
        "guarantee": {**mechanism.guarantee.table(), "words": mechanism.guarantee.words()},
        **({} if by_value is None else {"protection": by_value.table()}),
        "cells": mechanism.domain.size,
        "report_bytes": max(variant.row_bytes for variant in codec(mechanism).variants),
        "state_bytes": 8 * sum(array.size for array in mechanism.empty().values()),
        "predicted_stderr": {str(reports): mechanism.predicted_stderr(reports) for reports in EXAMPLE_REPORTS},
    }


def predicted_rows(description: dict[str, Any]) -> list[list[Any]]:
    """Rows of (reports, kind of query, standard error)."""
    return [
        [int(reports), kind, stderr]
        for reports, kinds in description["predicted_stderr"].items()
        for kind, stderr in kinds.items()
    ]
