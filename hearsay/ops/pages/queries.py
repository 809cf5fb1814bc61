"""A table of all queries: for docs/reference/queries.md, and for families from outside."""

from collections.abc import Sequence

from hearsay.mechanisms import catalogue
from hearsay.mechanisms.queries.query import Query
from hearsay.ops.pages.reference import page, table

_HEADER = ("query", "asks for", "needs", "`--count`", "`--simultaneous`", "post-processing")


def queries_page() -> str:
    """docs/reference/queries.md: every query of this distribution, and the mechanisms that can answer it."""
    queries = [
        home.load()
        for homes in catalogue.QUERIES.values()
        for home in homes
        if home.package.startswith(f"{catalogue.PACKAGE}.")
    ]
    return page("reference/queries.md", f"\n{queries_section(queries, catalogue.shipped())}\n")


def queries_section(queries: Sequence[type[Query]], mechanisms: Sequence[str]) -> str:
    """A row for every query, then the mechanisms that can answer each."""
    rows = [
        (
            _code(query.GRAMMAR),
            query.HELP,
            knows(query.NEEDS),
            f"no ({query.OWN_UNIT})" if query.OWN_UNIT else "yes",
            "yes" if query.MANY else "",
            ", ".join(_code(method) for method in sorted(query.METHODS)) or "none",
        )
        for query in queries
    ]
    needed = dict.fromkeys(query.NEEDS for query in queries)
    able = [(knows(need), ", ".join(_code(name) for name in mechanisms if _has(name, need))) for need in needed]
    return f"{table(_HEADER, rows)}\n\n{table(('what is known', 'by'), able)}"


def knows(capability: type) -> str:
    """What a capability is about."""
    return str(vars(capability)["WHAT"])


def _has(name: str, capability: type) -> bool:
    return any(issubclass(mechanism.ESTIMATE, capability) for mechanism in catalogue.classes(name))


def _code(text: str) -> str:
    return f"`{text}`"
