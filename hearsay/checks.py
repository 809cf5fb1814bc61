"""The laws that mechanisms and queries obey, for authors of plug-ins: each raises BrokenLaw, an AssertionError.

check_family     every mechanism and every kind of query of a module that HEARSAY_PLUGINS would name
check_mechanism  privacy of the exact channel, budget, unbiasedness and coverage, the law that states add
check_query      answers by hand (`EXAMPLES`), coverage, intervals as wide as needed and never lost, units, JSON
agree            that rows of JSON, of a table or from HTTP say what answers say
MECHANISM_LAWS   the laws one by one, for a test of its own each; QUERY_LAWS likewise

A mechanism and a query that ship obey them:

>>> from hearsay.mechanisms import build
>>> from hearsay.mechanisms.queries.cells import Point
>>> check_mechanism(build({"mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 3}}))
>>> check_query(Point)

A query that answers twice the share does not:

>>> from dataclasses import replace
>>> class Doubled(Point):
...     def answer(self, estimate, view):
...         return [replace(answer, value=2 * answer.value) for answer in super().answer(estimate, view)]
>>> check_query(Doubled)
Traceback (most recent call last):
hearsay.mechanisms.checks.law.BrokenLaw: truth: answer 1 of 'point 1' is 0.5, got 1.0
"""

from hearsay.mechanisms.checks.family import check_family
from hearsay.mechanisms.checks.law import BrokenLaw
from hearsay.mechanisms.checks.mechanisms import MECHANISM_LAWS, check_mechanism
from hearsay.mechanisms.checks.queries import QUERY_LAWS, agree, check_query
from hearsay.mechanisms.queries.example import Example

__all__ = [
    "MECHANISM_LAWS",
    "QUERY_LAWS",
    "BrokenLaw",
    "Example",
    "agree",
    "check_family",
    "check_mechanism",
    "check_query",
]
