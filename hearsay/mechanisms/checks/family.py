"""All laws for a whole family: every example of its mechanisms, every kind of query in its tables."""

from collections.abc import Iterator

from hearsay.mechanisms import catalogue
from hearsay.mechanisms.base import Mechanism
from hearsay.mechanisms.checks.mechanisms import check_mechanism
from hearsay.mechanisms.checks.queries import check_query
from hearsay.mechanisms.queries.query import Query


def mechanisms_of(module: str) -> Iterator[Mechanism]:
    """Every example of every mechanism that the family's tables name."""
    for listed in (form for forms in catalogue.MECHANISMS.values() for form in forms if form.package == module):
        kind = listed.load()
        for table in kind.EXAMPLES:
            yield catalogue.build({"mechanism": kind.ID, **table})


def queries_of(module: str) -> Iterator[type[Query]]:
    """Every kind of query that the family's tables name."""
    for home in (home for homes in catalogue.QUERIES.values() for home in homes if home.package == module):
        yield home.load()


def check_family(module: str) -> None:
    """Add the family to the catalogue, as HEARSAY_PLUGINS does, and check every law."""
    catalogue.add(module)
    for mechanism in mechanisms_of(module):
        check_mechanism(mechanism)
    for kind in queries_of(module):
        check_query(kind)
