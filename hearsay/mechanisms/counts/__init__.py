"""Small counts: mechanisms given by a matrix P[output, input], constrained to behave (Kulkarni chapter 6)."""

from hearsay.mechanisms.tables import Form

_COUNT = ("count",)

DOMAINS = {"count": "domain:Count"}
MECHANISMS = {
    "gm": (Form(_COUNT, "mechanism:Geometric"),),
    "em": (Form(_COUNT, "mechanism:ExplicitFair"),),
    "um": (Form(_COUNT, "mechanism:Uniform"),),
    "wm": (Form(_COUNT, "mechanism:WeaklyHonest"),),
    "lp": (Form(_COUNT, "mechanism:Programmed"),),
}
QUERIES = {"mean": "queries:MeanOfCells"}
# wm and lp are never below gm's error in surveys: their constraints are about single releases.
CANDIDATES = {"count": ("gm", "em", "metric-l1")}
