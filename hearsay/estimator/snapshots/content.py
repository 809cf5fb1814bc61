"""What a snapshot says: estimate and headline answers of one window, made from its exact state."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from hearsay.collector.limits import SNAPSHOT_JSON_BYTES
from hearsay.collector.survey.survey import Survey
from hearsay.collector.survey.windows import ALL, Window
from hearsay.collector.wire.rejections import Rejections
from hearsay.mechanisms import State
from hearsay.mechanisms.estimates.estimate import MEDIAN, Estimate
from hearsay.mechanisms.estimates.postprocess import Processed
from hearsay.mechanisms.estimates.simultaneous import CONFIDENCE, TOGETHER, critical_value
from hearsay.mechanisms.queries.answer import Answer, tables
from hearsay.mechanisms.questions import OWN, headline, unit_of
from hearsay.mechanisms.roles import EstimatorSide

FORMAT = 1


@dataclass(frozen=True)
class Content:
    """One window of a survey, ready to be written. Withheld: fewer reports than the survey hides in."""

    survey: Survey
    window: str
    version: int
    final: bool
    reports: int
    rejected: Rejections
    state: State
    estimate: Estimate | None
    answers: list[Answer]
    generated_at: datetime
    processed: Processed | None = None
    simulated: bool = False  # simulated devices are among those that reported

    @property
    def withheld(self) -> bool:
        return self.estimate is None

    def arrays(self) -> dict[str, Any]:
        """Every array of `arrays.npz`: the exact state and what the estimate stores; none where it is withheld.

        The estimate is always raw and unbiased; what the survey's post-processing makes of it stands beside it.
        """
        return self._arrays

    def document(self) -> dict[str, Any]:
        """The content of `snapshot.json`; docs/snapshot.schema.json describes it. It is made once."""
        return dict(self._document)

    @cached_property
    def _arrays(self) -> dict[str, Any]:
        if self.estimate is None:
            return {}  # the state says all that the answers would
        arrays: dict[str, Any] = {f"state/{name}": array for name, array in self.state.items()}
        arrays |= self.estimate.arrays()
        if self.processed is not None:
            arrays["processed"] = self.processed.values
        return arrays

    @cached_property
    def _document(self) -> dict[str, Any]:
        mechanism, statement = self.survey.mechanism, self.survey.statement
        # "all" and sums of windows have neither start nor end.
        several = self.window == ALL or self.window.startswith("last:")
        window = Window(0, self.window) if several else self.survey.windows.named(self.window)
        # Of a survey with weights the estimate is about the other axes.
        domain = mechanism.domain if self.estimate is None else self.estimate.domain
        warnings = [] if self.withheld else mechanism.warnings(self.state)
        return {
            "format": FORMAT,
            "survey": self.survey.name,
            "tag": self.survey.tag,
            "mechanism": statement["mechanism"],
            "epsilon": statement["epsilon"],
            "guarantee": statement["guarantee"],
            "window": self.window,
            "window_start": _moment(window.start_ms),
            "window_end": _moment(window.end_ms),
            "status": "final" if self.final else "partial",
            "version": self.version,
            "reports": self.reports,
            **({"simulated": True} if self.simulated else {}),
            "rejected": self.rejected.table(),
            "minimum_reports": self.survey.minimum_reports,
            "withheld": self.withheld,
            "postprocess": "none" if self.processed is None else self.processed.method,
            "simultaneous": {
                "confidence": CONFIDENCE,
                "method": TOGETHER,
                "cells": domain.size,
                "factor": critical_value(domain.size),
            },
            "generated_at": _iso(self.generated_at),
            "answers": tables(self.answers),
            **({"warnings": warnings} if warnings else {}),
            "arrays": [
                {"name": name, "dtype": array.dtype.name, "shape": list(array.shape)}
                for name, array in self.arrays().items()
            ],
            "definition": statement["definition"],
            **({"rounds": [dict(each) for each in self.survey.history]} if self.survey.windows.in_rounds else {}),
        }

    def short_json(self) -> bytes:
        """The document for Redis, which has definition and rounds; long labels may cost the answers their place."""
        document = self.document()
        del document["definition"]
        document.pop("rounds", None)
        encoded = json.dumps(document, allow_nan=False).encode()
        if len(encoded) > SNAPSHOT_JSON_BYTES:
            encoded = json.dumps({**document, "answers": [], "shortened": True}, allow_nan=False).encode()
        return encoded


@dataclass(frozen=True)
class Newest:
    """A survey's newest snapshot in short: all that an overview needs, without the arrays."""

    survey: str
    window: str
    status: str
    version: int
    reports: int
    generated_at: datetime
    headline: Mapping[str, Any] | None

    @classmethod
    def of(cls, content: Content) -> "Newest":
        """Of a snapshot that was just made."""
        newest = _newest([answer.query for answer in content.answers])
        first = None if newest is None else content.answers[newest].table()
        if first is not None and content.estimate is not None:
            first["unit"] = unit_of(first["query"], content.estimate)
        status = "final" if content.final else "partial"
        return cls(
            content.survey.name, content.window, status, content.version, content.reports, content.generated_at, first
        )

    @classmethod
    def stored(cls, document: Mapping[str, Any]) -> "Newest":
        """Of a snapshot that another process made; in which unit its answers are is not stored."""
        made = datetime.fromisoformat(document["generated_at"].replace("Z", "+00:00"))
        answers = document.get("answers") or []
        newest = _newest([answer["query"] for answer in answers])
        first = None if newest is None else {**answers[newest], "unit": OWN}
        return cls(
            document["survey"],
            document["window"],
            document["status"],
            document["version"],
            document["reports"],
            made,
            first,
        )

    def table(self) -> dict[str, Any]:
        """As the stream of events says it."""
        return {"name": self.survey, "window": self.window, "version": self.version, "reports": self.reports}


def compose(
    survey: Survey,
    window: str,
    state: State,
    *,
    version: int = 0,
    final: bool = True,
    rejected: Rejections | None = None,
    now: datetime | None = None,
    reports: int | None = None,
    estimate: Callable[[], Estimate] | None = None,
    simulated: bool = False,
) -> Content:
    """Estimate a window, or take the `estimate` made before; of fewer than `minimum_reports` reports, nothing."""
    mechanism: EstimatorSide = survey.mechanism
    reports = mechanism.reports(state) if reports is None else reports
    content = Content(
        survey,
        window,
        version,
        final,
        reports,
        rejected or Rejections(),
        state,
        None,
        [],
        now or datetime.now(UTC),
        simulated=simulated,
    )
    if reports < max(survey.minimum_reports, 1):
        return content
    made = mechanism.estimate(state) if estimate is None else estimate()
    answers, processed = headline(made, survey.postprocess), made.processed(survey.postprocess)
    return replace(content, estimate=made, answers=answers, processed=processed)


def _newest(queries: Sequence[str]) -> int | None:
    """Which of the headline's answers an overview shows: of quantiles the median, else the first."""
    if not queries:
        return None
    return queries.index(MEDIAN) if queries[0].startswith("quantile ") and MEDIAN in queries else 0


def _moment(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else _iso(datetime.fromtimestamp(milliseconds / 1_000, UTC))


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
