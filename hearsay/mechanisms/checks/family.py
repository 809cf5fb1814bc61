"""All laws for a whole family: every example of its mechanisms, every kind of query in its tables."""

from collections.abc import Iterator

from hearsay.mechanisms import catalogue
from hearsay.mechanisms.base import Mechanism
from hearsay.mechanisms.checks.law import expect
from hearsay.mechanisms.checks.mechanisms import check_mechanism
from hearsay.mechanisms.checks.queries import check_query
from hearsay.mechanisms.queries.query import Query


def mechanisms_of(module: str) -> Iterator[Mechanism]:
    """Every example of every mechanism that the family's tables name."""
    for listed in (form for forms in catalogue.MECHANISMS.values() for form in forms if form.package == module):
        kind = listed.load()
        expect(kind.EXAMPLES, f"example: mechanism {kind.ID} ({kind.__qualname__}) has no EXAMPLES")
        for table in kind.EXAMPLES:
            yield catalogue.build({"mechanism": kind.ID, **table})


def queries_of(module: str) -> Iterator[type[Query]]:
    """Every kind of query that the family's tables name."""
    for home in (home for homes in catalogue.QUERIES.values() for home in homes if home.package == module):
        yield home.load()


def check_family(module: str) -> None:
    """Add the family to the catalogue, as HEARSAY_PLUGINS does, and check every law."""
    catalogue.add(module)
    mechanisms, kinds = list(mechanisms_of(module)), list(queries_of(module))
    expect(mechanisms or kinds, f"family: {module} has no table MECHANISMS or QUERIES, so that nothing was checked")
    for mechanism in mechanisms:
        check_mechanism(mechanism)
    for kind in kinds:
        check_query(kind)
