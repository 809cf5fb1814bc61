"""The page of a plug-in family, made from its tables: `python -m hearsay.ops.pages.family MODULE` prints it."""

import sys
from importlib import import_module
from inspect import getdoc

from hearsay.mechanisms import catalogue
from hearsay.mechanisms.tables import Home
from hearsay.ops.pages.queries import queries_section
from hearsay.ops.pages.reference import domains_section, mechanism_section, table


def family_page(module: str) -> str:
    """The page: the module's docstring, its domains, mechanisms and queries."""
    catalogue.add(module)
    family = import_module(module)
    mechanisms = sorted(getattr(family, "MECHANISMS", {}))
    domains = [Home(module, location).load() for location in getattr(family, "DOMAINS", {}).values()]
    queries = [Home(module, location).load() for location in getattr(family, "QUERIES", {}).values()]
    lines = [f"# {module}", "", getdoc(family) or ""]
    if domains:
        rows = [(f"`{domain.KIND}`", _first_line(domain), _columns(domain.KIND, mechanisms)) for domain in domains]
        lines += ["", "## Domains", "", domains_section(domains)]
        lines += ["", table(("kind", "what it is", "columns of a file of values"), rows)]
    if mechanisms:
        lines += ["", "## Mechanisms", "", "\n\n".join(map(mechanism_section, mechanisms))]
    if queries:
        lines += ["", "## Queries", "", queries_section(queries, mechanisms)]
    return "\n".join(lines) + "\n"


def _first_line(domain: type) -> str:
    return (getdoc(domain) or "").partition("\n")[0]


def _columns(kind: str, mechanisms: list[str]) -> str:
    """The columns of a file of values for the first example on such a domain; they may depend on the domain's table."""
    for name in mechanisms:
        for example in catalogue.examples(name):
            if example["domain"].get("kind") == kind:
                return ", ".join(f"`{column}`" for column in catalogue.parse_domain(example["domain"]).columns)
    return ""


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(family_page(argument), end="")
