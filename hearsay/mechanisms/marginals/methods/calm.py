"""CALM: larger views of a few sets, made consistent, the rest by maximum entropy (Zhang et al. 2018; Kulkarni 4.6.1).

Device    Draw one of the public views (`design`: any two attributes lie together in one of them) evenly; report its
          table by optimised unary encoding.
Privacy   The view is independent of the value; the bits have ratio at most e^eps.
Estimate  A marginal inside a view is pooled over the views that contain it, unbiased. Any other one is the maximum
          entropy model of the characters that the views do show (`maxent`), and says so: it has no standard error.
Variance  of a character: 2^l V/(n p), p the share of views of l attributes that contain it, V = 4e/(e-1)^2.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from hearsay.mechanisms.base import State
from hearsay.mechanisms.marginals.analyses.maxent import fit
from hearsay.mechanisms.marginals.characters.code import Attributes
from hearsay.mechanisms.marginals.methods.design import views
from hearsay.mechanisms.marginals.methods.marg_views import BitViews, ViewEstimate
from hearsay.mechanisms.marginals.methods.views import Views
from hearsay.mechanisms.marginals.table import Table


@dataclass(frozen=True, eq=False)
class CalmEstimate(ViewEstimate):
    """Views, and a model of what lies in none of them."""

    def _table(self, attributes: Attributes) -> Table:
        if self.pooled.views.containing(attributes):
            return super()._table(attributes)
        return fit(self, attributes)


@dataclass(frozen=True)
class Calm(BitViews):
    """Views are the lines of an affine plane."""

    ID = "calm"
    ESTIMATE = CalmEstimate
    SUMMARY = "marginals of three and more attributes from a few larger views, completed by maximum entropy"
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {"epsilon": 1.1, "domain": {"kind": "attributes", "names": ["a", "b", "c"], "order": 2}},
        {"epsilon": 1.1, "domain": {"kind": "attributes", "names": ["a", "b", "c", "d"], "order": 2}},
    )

    @cached_property
    def views(self) -> Views:
        return Views(self.code, views(len(self.code.sizes)))

    def estimate(self, state: State) -> CalmEstimate:
        return CalmEstimate(self.domain, self.reports(state), state["ones"], state["count"], self.pooled)

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """Of the pairs, which every view set covers; larger tables are models."""
        pairs = list(combinations(range(len(self.code.sizes)), min(2, len(self.code.sizes))))
        errors = [self.pooled.predicted(chosen) for chosen in pairs]
        return {"marginal": float(np.mean(errors)) / float(np.sqrt(reports))}
