"""The newest snapshot of a survey in short."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hearsay.estimator.snapshots.content import Content
from hearsay.mechanisms.questions import OWN, unit_of


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
        first = content.answers[0].table() if content.answers else None
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
        answers = document.get("answers") or [None]
        first = None if answers[0] is None else {**answers[0], "unit": OWN}
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
