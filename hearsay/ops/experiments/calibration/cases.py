"""What is measured: every mechanism on domains, data, numbers of reports and epsilons at the edges of use."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms import catalogue

Counts = NDArray[np.int64]
Setting = TypeVar("Setting")

SIZES, RANGE_SIZES = (2, 3, 7, 255, 257, 1000), (2, 3, 7, 255, 257, 1000, 1 << 16)
DATA = ("uniform", "zipf", "point", "peaks", "edge")
REPORTS = (1, 10, 100, 1_000, 20_000)
EPSILONS = (0.1, 1.0, 4.0, 8.0)
QUICK_REPORTS, QUICK_EPSILONS = (1, 10, 1_000), (1.0, 4.0, 8.0)
ORACLES = ("grr", "ss", "sue", "oue", "olh", "hrr", "hr", "rappor")
RANGES = ("flat", "haar", "hierarchical", "metric-l1")
CONTEXT = ("binary", "block-hr", "highlow-hr", "channel")
LAPLACE = ("laplace-histogram", "matrix")
COUNTS = ("gm", "em", "wm", "lp", "lp local")
_SLOW = ("hierarchical", "rappor")  # few cells only in the quick form
_KINDS = ("categorical", "ordinal", "count", "binary")


def with_others(named: Sequence[str], *kinds: str) -> tuple[str, ...]:
    """The settings that are named here, then every other mechanism for these kinds of domain: a new one needs no line.

    A mechanism whose error more reports do not remove (ERROR_FLOOR) is left out: no interval of it holds.
    """
    listed = {name.split()[0] for name in named}
    others = [
        name
        for name in catalogue.shipped()
        if name not in listed
        and set(kinds) & set(catalogue.kinds(name))
        and not any(kind.ERROR_FLOOR for kind in catalogue.classes(name))
    ]
    return (*named, *others)


MECHANISMS = with_others((*ORACLES, *CONTEXT, *LAPLACE, *RANGES, *COUNTS), *_KINDS)
_SIZES_OF = {
    "rappor": (2, 3, 7, 255),  # a system of equations in every run
    "binary": (2,),
    "block-hr": (7, 255, 1000),
    "highlow-hr": (3, 7, 255, 1000),
    "channel": (2, 3, 7),
    "laplace-histogram": (2, 3, 7),
    "matrix": (2, 3, 7),
    **dict.fromkeys(("gm", "em"), (2, 3, 7, 65)),
    "wm": (3, 7),
    **dict.fromkeys(("lp", "lp local"), (2, 3, 7)),  # beyond, the solver takes longer than all runs
    **dict.fromkeys(RANGES, RANGE_SIZES),
}


def _domain(kind: str, size: int) -> dict[str, Any]:
    """So many cells, as each kind of domain writes them."""
    without_size: dict[str, dict[str, int]] = {"count": {"max": size - 1}, "binary": {}}
    return {"kind": kind, **without_size.get(kind, {"size": size})}


def _first_kind(name: str) -> str:
    """The kind of domain that a mechanism is measured on, where nothing else is said."""
    return next(kind for kind in _KINDS if kind in catalogue.kinds(name))


@dataclass(frozen=True)
class Case:
    """One setting."""

    mechanism: str
    size: int
    data: str
    reports: int
    epsilon: float

    @property
    def where(self) -> str:
        return f"{self.size} cells"

    def table(self) -> dict[str, Any]:
        """The mechanism as a survey has it."""
        name, *form = self.mechanism.split()
        kind = "ordinal" if name in (*RANGES, "matrix", "channel") else _first_kind(name)
        table: dict[str, Any] = {"mechanism": name, "epsilon": self.epsilon}
        domain = _domain(kind, self.size)
        if name == "lp":
            table["options"] = {"local": True} if form else {"properties": ["WH"]}
        elif self.mechanism == "binary":
            table["options"] = {"epsilon_12": "inf"}
        elif self.mechanism == "block-hr":
            domain["blocks"] = 3
        elif self.mechanism == "highlow-hr":
            domain["sensitive"] = list(range(max(1, self.size // 5)))
        elif self.mechanism == "channel":
            table |= {"epsilon": self.epsilon * (self.size - 1), "options": {"matrix": _geometric(self)}}
        return {**table, "domain": domain}

    def holders(self) -> Counts:
        """How many hold each cell; the same in every run."""
        shares = np.zeros(self.size)
        if self.data == "uniform":
            shares[:] = 1
        elif self.data == "zipf":
            shares[:] = 1 / np.arange(1, self.size + 1)
        elif self.data == "point":
            shares[self.size // 3] = 1
        elif self.data == "peaks":
            shares[[self.size // 8, -1 - self.size // 8]] = 1
        else:
            shares[-1] = 1
        generator = np.random.default_rng([self.size, self.reports, DATA.index(self.data)])
        return generator.multinomial(self.reports, shares / shares.sum()).astype(np.int64)


def _geometric(case: Case) -> list[list[float]]:
    """The truncated geometric channel, epsilon a step."""
    a, cells = np.exp(-case.epsilon), np.arange(case.size)
    rows = (1 - a) / (1 + a) * a ** np.abs(cells[:, None] - cells)
    rows[:, 0], rows[:, -1] = a**cells / (1 + a), a ** (case.size - 1 - cells) / (1 + a)
    rows /= rows.sum(axis=1, keepdims=True)
    return [[float(entry) for entry in row] for row in rows]


def crossed(settings: Iterable[Setting], data: Iterable[str], quick: bool) -> Iterator[tuple[Setting, str, int, float]]:
    """Every domain with all data, numbers of reports and epsilons; the quick form has the worst of them, on `data`."""
    if quick:
        return product(settings, data, QUICK_REPORTS, QUICK_EPSILONS)
    return product(settings, DATA, REPORTS, EPSILONS)


def cases(mechanism: str, quick: bool) -> Iterator[Case]:
    """All settings of a mechanism; the quick form has few of them."""
    sizes: tuple[int, ...] = _SIZES_OF.get(mechanism, SIZES if _first_kind(mechanism.split()[0]) != "binary" else (2,))
    if quick:
        sizes = tuple(size for size in sizes if size in ((7,) if mechanism in _SLOW else (7, 255))) or sizes[:1]
    for size, name, n, epsilon in crossed(sizes, ("zipf", "point"), quick):
        if mechanism == "channel" and epsilon * (size - 1) > 40:
            continue
        yield Case(mechanism, size, name, n, epsilon)
