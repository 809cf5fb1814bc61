"""A family from outside: throws of two dice, asked in two rounds. Named by HEARSAY_PLUGINS as `tests.toy`.

Everything about it is its own: the kind of domain, what a device's value is, mechanism, estimate, capabilities and
queries. Nothing outside this folder knows any of it; the tests beside it take it through all that users see.
"""

from hearsay.mechanisms.tables import Form

DOMAINS = {"dice": "domain:Dice"}
MECHANISMS = {"two-throws": (Form(("dice",), "mechanism:TwoThrows"),)}
QUERIES = {
    "sum": "queries:Sum",
    "expected": "queries:Expected",
    "split": "queries:Split",
    "top": "queries:TopSums",  # a verb that other families answer too
}
CANDIDATES = {"dice": ("two-throws",)}
