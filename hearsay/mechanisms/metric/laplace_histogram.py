"""Histogram encoding with Laplace noise on the integers, larger for values that the metric protects more.

This is the matrix mechanism (see `matrix`) with the identity as its strategy: a device reports one noisy integer per
value (Xiang et al. 3.2). Under the metric E_S pairs without a sensitive value need half the protection, so values that
are not sensitive get less noise.
"""

from dataclasses import dataclass
from typing import Any

from hearsay.mechanisms.guarantees.distances import metric_option
from hearsay.mechanisms.metric.matrix import LaplaceRows
from hearsay.mechanisms.metric.strategies import SCALES
from hearsay.mechanisms.options import choice


@dataclass(frozen=True)
class LaplaceHistogram(LaplaceRows):
    """One noisy integer per value."""

    ID = "laplace-histogram"
    SUMMARY = "one Laplace-noised integer per value, under any metric; sensitive values can be hidden better"
    OPTIONS = (
        choice("strategy", "identity", ("identity",), "what devices report: one number per value"),
        metric_option(None),
        SCALES,
    )
    EXAMPLES = (
        {"epsilon": 3.0, "domain": {"kind": "categorical", "size": 3}},
        {"epsilon": 2.5, "domain": {"kind": "categorical", "size": 3, "sensitive": [0]}},
    )

    @property
    def metric(self) -> dict[str, Any]:
        """The survey's metric; without one, E_S if the domain lists sensitive values, otherwise plain LDP."""
        if self.options["metric"] is not None:
            return dict(self.options["metric"])
        return {"kind": "sensitive" if self.domain.sensitive else "ldp"}

    def canonical_options(self) -> dict[str, Any]:
        return {**super().canonical_options(), "metric": self.metric}
