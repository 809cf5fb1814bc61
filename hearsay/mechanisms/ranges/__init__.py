"""Ranges and quantiles of ordered values."""

from hearsay.mechanisms.tables import GIVEN, Form

CANDIDATES = dict.fromkeys(("ordinal", "grid"), ("hierarchical", "haar", "flat"))

# What makes the levels of a grid uniform; without any of these `planned_grid` chooses them.
_UNIFORM = ({"levels": "uniform"}, {"fanout": GIVEN}, {"oracle": GIVEN}, {"consistency": False})

MECHANISMS = {
    "flat": (Form(("ordinal",), "flat:Flat"),),
    "hierarchical": (
        Form(("ordinal",), "hierarchical.line:Hierarchical"),
        *(Form(("grid",), "hierarchical.grid:HierarchicalGrid", when) for when in _UNIFORM),
    ),
    "haar": (Form(("ordinal",), "haar.line:Haar"), Form(("grid",), "haar.grid:HaarGrid")),
}
