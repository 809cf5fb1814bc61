"""The charts of an estimate: an estimate names them, and the page draws them."""

from dataclasses import asdict, dataclass
from typing import Any

CDF_POINTS = 256  # more than a drawing has room for


@dataclass(frozen=True)
class Chart:
    """One picture: its kind, the question whose answers it draws, and what it says above it.

    `kind` is histogram, cdf, map, bars, keys, tree or table. `also` is a second question that is drawn with the first.
    `resolution`: the question takes a number of stretches for each of `axes`. `choose` lets the reader pick arguments:
    {"verb", "from": names, "most": how many at once}.
    """

    kind: str
    question: str
    title: str
    also: str | None = None
    resolution: bool = False
    axes: int = 1
    choose: dict[str, Any] | None = None

    def table(self) -> dict[str, Any]:
        """The chart as JSON; what does not apply is absent."""
        fields = asdict(self)
        return {
            "chart": fields.pop("kind"),
            "query": fields.pop("question"),
            **{name: value for name, value in fields.items() if value},
        }


HISTOGRAM = Chart("histogram", "histogram", "Shares of the reports", resolution=True)
CDF = Chart("cdf", f"cdf {CDF_POINTS}", "Cumulative shares", also="quantile 0.25 0.5 0.75")
MAP = Chart("map", "histogram", "Shares of the reports, by square", resolution=True, axes=2)
