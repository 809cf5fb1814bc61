"""Every family's tables in one: which domains, mechanisms and queries there are, by name.

Nothing registers itself by being imported. A family of this distribution stands in `FAMILIES`; one from outside is a
module with the same tables, added by `add` (services do that for the modules that HEARSAY_PLUGINS names).
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from hearsay.errors import nearest
from hearsay.mechanisms.base import Mechanism
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import SpecificationError, one_of
from hearsay.mechanisms.tables import Form, Home

if TYPE_CHECKING:  # a device asks nothing
    from hearsay.mechanisms.queries.query import Query

PACKAGE = "hearsay.mechanisms"
FAMILIES = (
    "domains",
    "queries",
    "oracles",
    "context_aware",
    "ranges",
    "metric",
    "marginals",
    "counts",
    "key_value",
    "means",
    "text",
    "ranges.planned_grid",  # last, so that the examples of `hierarchical` that were there before keep their numbers
)


class Listed(NamedTuple):
    """A form, and the package whose table lists it."""

    package: str
    form: Form

    def load(self) -> type[Mechanism]:
        mechanism: type[Mechanism] = Home(self.package, self.form.home).load()
        return mechanism


DOMAINS: dict[str, Home] = {}
MECHANISMS: dict[str, tuple[Listed, ...]] = {}
CANDIDATES: dict[str, tuple[str, ...]] = {}  # kind of domain: what `mechanism = "auto"` compares
QUERIES: dict[str, tuple[Home, ...]] = {}  # several families may answer a verb, each for its own estimates


EXPORTS = ("DOMAINS", "MECHANISMS", "QUERIES", "CANDIDATES")  # a family has one of these tables at least


def add(module: str) -> bool:
    """Add the tables of a family, once; returns False if the module has none of the tables."""
    family = import_module(module)
    for kind, location in getattr(family, "DOMAINS", {}).items():
        DOMAINS[kind] = Home(module, location)
    for name, forms in getattr(family, "MECHANISMS", {}).items():
        # A family may add a form to another one's mechanism, for a kind of domain of its own.
        others = (listed for listed in MECHANISMS.get(name, ()) if listed.package != module)
        MECHANISMS[name] = (*others, *(Listed(module, form) for form in forms))
    for kind, compared in getattr(family, "CANDIDATES", {}).items():
        CANDIDATES[kind] = tuple(dict.fromkeys((*CANDIDATES.get(kind, ()), *compared)))
    for verb, location in getattr(family, "QUERIES", {}).items():
        QUERIES[verb] = tuple(dict.fromkeys((*QUERIES.get(verb, ()), Home(module, location))))
    queries.cache_clear()
    return any(hasattr(family, name) for name in EXPORTS)


def homes(module: str) -> list[Home]:
    """The module and name of every class in a family's tables."""
    family = import_module(module)
    forms = (form for forms in getattr(family, "MECHANISMS", {}).values() for form in forms)
    locations = [*getattr(family, "DOMAINS", {}).values(), *(form.home for form in forms)]
    return [Home(module, location) for location in (*locations, *getattr(family, "QUERIES", {}).values())]


@cache
def queries(verb: str) -> tuple["type[Query]", ...]:
    """Every class that answers a verb."""
    return tuple(home.load() for home in QUERIES[verb])


for _family in FAMILIES:
    add(f"{PACKAGE}.{_family}")


def outside() -> list[str]:
    """The modules of families that are not of this distribution."""
    homes = (*DOMAINS.values(), *(home for homes in QUERIES.values() for home in homes))
    listed = (each.package for forms in MECHANISMS.values() for each in forms)
    packages = dict.fromkeys((*(home.package for home in homes), *listed))
    return [package for package in packages if not package.startswith(f"{PACKAGE}.")]


def methods() -> tuple[str, ...]:
    """Every post-processing method, none first."""
    known = (method for verb in QUERIES for query in queries(verb) for method in sorted(query.METHODS))
    return tuple(dict.fromkeys(("none", *known)))


def names() -> list[str]:
    """Every mechanism's name."""
    return sorted(MECHANISMS)


def shipped() -> list[str]:
    """The mechanisms of this distribution; plug-ins are documented where they come from."""
    return [name for name, forms in sorted(MECHANISMS.items()) if forms[0].package.startswith(f"{PACKAGE}.")]


def shipped_domains() -> list[type[Domain]]:
    """The kinds of domain of this distribution."""
    return [home.load() for home in DOMAINS.values() if home.package.startswith(f"{PACKAGE}.")]


def shapes() -> tuple[str, ...]:
    """Every name of a distribution of simulated people, of any kind of domain."""
    return tuple(dict.fromkeys(shape for home in DOMAINS.values() for shape in home.load().shapes()))


def kinds(name: str) -> tuple[str, ...]:
    """The kinds of domain that a mechanism is for, in the order of its forms."""
    return tuple(dict.fromkeys(kind for listed in MECHANISMS[name] for kind in listed.form.kinds))


def able(capabilities: tuple[type, ...], kind: str) -> list[str]:
    """The mechanisms whose estimates have one of the capabilities on domains of a kind."""
    return [
        name
        for name, forms in sorted(MECHANISMS.items())
        if any(kind in listed.form.kinds and issubclass(listed.load().ESTIMATE, capabilities) for listed in forms)
    ]


def classes(name: str) -> tuple[type[Mechanism], ...]:
    """Every class of a mechanism, that of its first form first."""
    return tuple(listed.load() for listed in MECHANISMS[name])


def examples(name: str) -> tuple[dict[str, Any], ...]:
    """Small survey tables (without `mechanism`) of every form."""
    own = {id(kind.EXAMPLES): kind.EXAMPLES for kind in classes(name)}  # a form that adds none inherits them
    return tuple(table for tables in own.values() for table in tables)


def parse_domain(table: Any) -> Any:
    """A domain from a survey's `[domain]` table."""
    if not isinstance(table, Mapping):
        raise SpecificationError(what="domain", expected="a table", got=type(table).__name__)
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in DOMAINS:
        raise SpecificationError(what="domain.kind", expected=f"one of {', '.join(DOMAINS)}", got=repr(kind))
    return DOMAINS[kind].load().parse(table)


def create(name: Any, epsilon: Any, domain: Domain, options: Any) -> Mechanism:
    """The mechanism of that name on a domain."""
    return fitting(name, domain, options).create(epsilon, domain, options)


def fitting(name: Any, domain: Domain, options: Any) -> type[Mechanism]:
    """The class of that name that takes such a domain and such options."""
    if not isinstance(name, str) or name not in MECHANISMS:
        hint = "" if nearest(str(name), names(), cutoff=0.6) else "; for one of a plug-in set HEARSAY_PLUGINS"
        expected = f"one of {one_of(names(), name)}"
        raise SpecificationError(what="mechanism", expected=expected, got=repr(name), ending=hint)
    forms = [listed for listed in MECHANISMS[name] if listed.form.fits(domain.kind, options)]
    if not forms:
        raise SpecificationError(
            what="domain.kind", expected=f"one of {', '.join(kinds(name))} for mechanism {name}", got=repr(domain.kind)
        )
    return max(forms, key=lambda listed: len(listed.form.when)).load()  # the first among equals


def build(table: Mapping[str, Any]) -> Mechanism:
    """A mechanism from a survey's table: `mechanism`, `epsilon`, `domain` and, if wanted, `options`."""
    for key in ("mechanism", "epsilon", "domain"):
        if key not in table:
            raise SpecificationError(f"{key} is missing")
    return create(table["mechanism"], table["epsilon"], parse_domain(table["domain"]), table.get("options", {}))
