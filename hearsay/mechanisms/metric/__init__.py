"""Metric privacy: the closer two values are, the better a report hides which of them it is about."""

from hearsay.mechanisms.tables import Form

_AXES = ("ordinal", "grid")

MECHANISMS = {
    "metric-l1": (
        Form((*_AXES, "count"), "l1:MetricL1Signs"),
        Form(_AXES, "weighted:PublicWeights", {"weights": "public"}),
        Form(_AXES, "weighted:PrivateWeights", {"weights": "private"}),
    ),
    "matrix": (Form(("ordinal", "categorical", "grid", "binary"), "matrix:MatrixMechanism"),),
    "laplace-histogram": (Form(("categorical", "ordinal", "grid", "binary"), "laplace_histogram:LaplaceHistogram"),),
}
