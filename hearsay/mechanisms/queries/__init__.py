"""Questions to an estimate, and their answers."""

QUERIES = {
    "point": "cells:Point",
    "range": "ranges:Range",
    "prefix": "ranges:Prefix",
    "quantile": "quantiles:Quantile",
    "cdf": "ranges:Cdf",
    "histogram": "histogram:Histogram",
    "frequencies": "cells:Frequencies",
    "top": "cells:Top",
    "weighted": "sums:WeightedRange",
    "linear": "sums:Linear",
    "auc": "sums:Auc",
}
