"""What can be seen and asked of one survey: its charts, its queries, what it promises."""

from collections import OrderedDict
from typing import Any

from hearsay.collector.describe.describe import describe
from hearsay.collector.store.registry import SurveyLook
from hearsay.collector.survey.windows import ALL
from hearsay.estimator.readings import Readings
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.charts import Chart
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.queries.query import Query
from hearsay.mechanisms.questions import answerable, check_reports, parse_text, query_for

KEPT = 1_000  # descriptions of surveys, some kilobytes each


class Details:
    """What the page needs to know of a survey. What `survey show` prints is computed once: it may take a second."""

    def __init__(self, readings: Readings) -> None:
        self._readings = readings
        self._described: OrderedDict[str, dict[str, Any]] = OrderedDict()  # by tag

    def of(self, seen: SurveyLook) -> dict[str, Any]:
        """Promise, charts and queries; without enough reports there is nothing to draw or to ask."""
        survey = seen.survey
        shown = self._described.get(survey.tag)
        if shown is None:
            shown = self._described[survey.tag] = describe(survey)
            if len(self._described) > KEPT:
                self._described.popitem(last=False)
        table: dict[str, Any] = {"show": shown, "promise": _promise(shown), "views": [], "queries": [], "methods": []}
        try:
            current = self._readings.live(seen.registered, ALL, seen)
            check_reports(current.sum.reports, survey.minimum_reports)
        except QueryError:
            return table
        estimate = current.estimate()
        asked = answerable(estimate)
        return {
            **table,
            "views": [_view(chart, estimate) for chart in estimate.charts()],
            "queries": [{"grammar": query.GRAMMAR, "help": query.HELP} for query in asked],
            "methods": sorted({method for query in asked for method in _methods(query, estimate)}),
        }


def _view(chart: Chart, estimate: Estimate) -> dict[str, Any]:
    """A chart with what its question takes beside the words."""
    kind = query_for(parse_text(chart.question), estimate)
    return {**chart.table(), "many": kind.MANY, "methods": _methods(kind, estimate)}


def _methods(query: type[Query], estimate: Estimate) -> list[str]:
    """The post-processing that a kind of query has here."""
    return sorted(method for method in query.METHODS if estimate.lacks(method) is None)


def _promise(shown: dict[str, Any]) -> list[str]:
    """The promise in words as `survey show` has it: for every value, then what is protected and what is not."""
    parts = shown.get("protection", {})
    titles = {"protected": "Protected", "not_protected": "Not protected"}
    listed = [f"{titles[title]}: {line}" for title in titles for line in parts.get(title, ())]
    return [*shown["promise"], *listed]
