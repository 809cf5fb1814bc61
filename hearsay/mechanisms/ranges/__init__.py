"""Ranges and quantiles of ordered values."""

from hearsay.mechanisms.forms import Form

CANDIDATES = dict.fromkeys(("ordinal", "grid"), ("hierarchical", "haar", "flat"))

MECHANISMS = {
    "flat": (Form(("ordinal",), "flat:Flat"),),
    "hierarchical": (
        Form(("ordinal",), "hierarchical.line:Hierarchical"),
        Form(("grid",), "hierarchical.grid:HierarchicalGrid"),
    ),
    "haar": (Form(("ordinal",), "haar.line:Haar"), Form(("grid",), "haar.grid:HaarGrid")),
}
