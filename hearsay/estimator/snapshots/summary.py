"""A snapshot in ten lines."""

from collections.abc import Iterator, Mapping
from typing import Any

from hearsay.collector.showing import ten_lines, text_of
from hearsay.collector.survey.survey import Survey


def summary(survey: Survey, metadata: Mapping[str, Any]) -> str:
    """Name, reports, window, promise and the first headline answers."""
    return ten_lines(f"Snapshot of {survey.name}", _rows(survey, metadata))


def _rows(survey: Survey, metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    simulated = ", simulated devices among them" if metadata.get("simulated") else ""
    yield "reports", f"{metadata.get('reports', 0):,}{simulated}"
    yield "window", f"{metadata.get('window')} ({metadata.get('status', 'partial')})"
    yield "mechanism", f"{survey.mechanism.ID}, epsilon {survey.epsilon:g}"
    yield "promise", survey.mechanism.guarantee.words()
    for answer in metadata.get("headline", [])[:5]:
        about = answer.get("item", answer.get("cell"))
        name = answer["query"] if about is None else f"{answer['query']}: {about}"
        yield name, f"{text_of(answer['value'])} ({text_of(answer['low'])}..{text_of(answer['high'])})"
