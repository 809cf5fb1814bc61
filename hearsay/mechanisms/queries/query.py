"""Questions in the domain's own units: one grammar for the command line, the interface and the headline answers.

    point V | range A B | prefix B | quantile Q... | cdf | frequencies | top K | weighted A B | linear [C...] | auc

On a grid `point V1 V2 ...` and `range A1:B1 A2:B2 ...`; `weighted` takes what `range` does, `linear` one coefficient
per cell; `auc` is about a score and a label. Ranges are inclusive. Where an axis is continuous, an end inside a bin
takes the whole bin, an end on the boundary of two bins takes none of the next one, and the answer says which stretch it
covers. Values are raw and unbiased unless a post-processing method is named.
"""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.domains.place import covered, locate_range, name_cell, split_range
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Estimate
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.queries.auc import area_under_curve
from hearsay.mechanisms.queries.quantiles import quantiles
from hearsay.mechanisms.queries.view import Seen, Shares, check_simultaneous, method_for

GRAMMAR = (
    "point V | range A B | prefix B | quantile Q... | cdf | frequencies | top K | weighted A B | linear [C...] | auc"
)
UNSCALED = {  # queries whose values are no shares of the reports
    "quantile": "whose values are in the domain's units",
    "auc": "which is a chance and no share of the reports",
}
ORDERED_KINDS = ("ordinal", "grid", "count")
LARGEST_COEFFICIENT = 1e9
_LATER = ("marginal", "mean")


@dataclass(frozen=True, slots=True)
class Query:
    """A question, not yet held against a domain."""

    kind: str
    arguments: tuple[str, ...]

    @property
    def text(self) -> str:
        """The question as one line that parses to itself."""
        return shlex.join((self.kind, *self.arguments))


def parse(words: Sequence[str]) -> Query:
    """A question from its words."""
    if not words:
        raise QueryError(f"query must be one of {GRAMMAR}, got nothing")
    if not all(word.isprintable() for word in words):
        raise QueryError("query must hold printable characters only")
    kind, *arguments = words
    if kind in _LATER:
        raise QueryError(f"query {kind} is not answered for surveys of this kind; use {GRAMMAR}")
    if kind not in _ANSWERS:
        raise QueryError(f"query must be one of {GRAMMAR}, got {kind!r}")
    if kind in ("cdf", "frequencies", "auc") and arguments:
        raise QueryError(f"query {kind} takes no argument, got {len(arguments)}")
    if kind in ("prefix", "top") and len(arguments) != 1:
        raise QueryError(f"query {kind} takes one argument, got {len(arguments)}")
    if kind in ("point", "range", "quantile", "weighted") and not arguments:
        raise QueryError(f"query {kind} needs an argument, got none; the queries are {GRAMMAR}")
    return Query(kind, tuple(arguments))


def parse_text(text: str) -> Query:
    """A question from one line; words with spaces are quoted as in a shell."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise QueryError(f"query must be words with closed quotes: {error}") from None
    return parse(words)


def answer(
    query: Query,
    estimate: Estimate,
    *,
    minimum_reports: int = 0,
    count: bool = False,
    limit: int | None = None,
    postprocess: str | None = None,
    default: str = "none",
    simultaneous: bool = False,
) -> list[Answer]:
    """The answers, as fractions of the reports or, with `count`, as numbers of reports.

    Nothing is said about fewer than `minimum_reports`; more than `limit` answers are refused. `postprocess` names a
    method and is refused where it is not defined; `default` is the survey's, used where it is defined.
    """
    if count and query.kind in UNSCALED:
        raise QueryError(f"count does not apply to {query.kind}, {UNSCALED[query.kind]}")
    if simultaneous:
        check_simultaneous(query.kind)
    check_reports(estimate.reports, minimum_reports)
    if limit is not None and query.kind in ("cdf", "frequencies") and estimate.domain.size > limit:
        raise QueryError(
            f"query {query.kind} has {estimate.domain.size} answers, at most {limit} are given here; "
            "use top, point or range"
        )
    method = method_for(postprocess, default, query.kind, estimate)
    scale = float(estimate.reports) if count else 1.0
    return _ANSWERS[query.kind](query, Shares(estimate, method, scale, simultaneous))


def check_reports(reports: int, minimum_reports: int) -> None:
    """Refuse to answer from nothing, or from fewer reports than the survey promises to hide in."""
    if reports <= 0:
        raise QueryError("no reports yet")
    if reports < minimum_reports:
        raise QueryError(f"answers are withheld until there are {minimum_reports} reports, got {reports}")


def _point(query: Query, shares: Shares) -> list[Answer]:
    domain = shares.domain
    if len(query.arguments) != len(domain.axes):
        wanted = ", ".join(axis.name for axis in domain.axes)
        raise QueryError(f"query point needs one value for each of {wanted}, got {len(query.arguments)}")
    indices = [axis.locate(text) for axis, text in zip(domain.axes, query.arguments, strict=True)]
    cell = np.ravel_multi_index(tuple(indices), domain.shape)
    return _cells(query.text, shares, np.array([cell], dtype=np.int64))


def _range(query: Query, shares: Shares) -> list[Answer]:
    return _stretch(query, shares, _ends(query, shares.domain))


def _weighted(query: Query, shares: Shares) -> list[Answer]:
    domain = shares.domain
    ends = _ends(query, domain)
    return shares.show(query.text, Seen(shares.estimate.weighted(*_arrays(ends)), None), [covered(domain, ends)])


def _linear(query: Query, shares: Shares) -> list[Answer]:
    """The survey's workload, whose rows are numbered from 1 as in its file, or one sum with the given coefficients."""
    if not query.arguments:
        seen = shares.estimate.sums()
        return shares.show(query.text, Seen(seen, None), ((row, None) for row in range(1, len(seen.value) + 1)))
    if len(query.arguments) != shares.domain.size:
        raise QueryError(
            f"query linear needs {shares.domain.size} coefficients, one per cell, got {len(query.arguments)}"
        )
    coefficients = np.array([[_coefficient(text) for text in query.arguments]])
    return shares.show(query.text, Seen(shares.estimate.sums(coefficients), None), [(None, None)])


def _auc(query: Query, shares: Shares) -> list[Answer]:
    return shares.show(query.text, Seen(area_under_curve(shares.estimate), None), [(None, None)])


def _coefficient(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not abs(number) <= LARGEST_COEFFICIENT:
        raise QueryError(f"coefficient must be a number of at most {LARGEST_COEFFICIENT:g} in size, got {text}")
    return number


def _ends(query: Query, domain: Domain) -> list[tuple[int, int]]:
    """First and last cell along each axis."""
    if domain.kind not in ORDERED_KINDS:
        raise QueryError(f"query {query.kind} needs an ordered domain (ordinal or grid), this one is {domain.kind}")
    if domain.kind == "grid":
        if len(query.arguments) != len(domain.axes):
            wanted = ", ".join(axis.name for axis in domain.axes)
            raise QueryError(f"query {query.kind} needs one A:B for each of {wanted}, got {len(query.arguments)}")
        ends = [split_range(axis, text) for axis, text in zip(domain.axes, query.arguments, strict=True)]
    else:
        if len(query.arguments) != 2:
            raise QueryError(f"query {query.kind} needs two ends, got {len(query.arguments)}")
        ends = [(query.arguments[0], query.arguments[1])]
    return [locate_range(axis, *end) for axis, end in zip(domain.axes, ends, strict=True)]


def _prefix(query: Query, shares: Shares) -> list[Answer]:
    domain = shares.domain
    _need_ordinal(query, shares)
    _, last = locate_range(domain.axes[0], None, query.arguments[0])
    return _stretch(query, shares, [(0, last)])


def _stretch(query: Query, shares: Shares, ends: list[tuple[int, int]]) -> list[Answer]:
    return shares.show(query.text, shares.ranges(*_arrays(ends)), [covered(shares.domain, ends)])


def _arrays(ends: list[tuple[int, int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One range as estimates take it: lower ends, upper ends, shape (1, axes)."""
    low, high = np.array([ends], dtype=np.int64).transpose(2, 0, 1)
    return low, high


def _quantile(query: Query, shares: Shares) -> list[Answer]:
    _need_ordinal(query, shares)
    return quantiles(query.arguments, shares)


def _cdf(query: Query, shares: Shares) -> list[Answer]:
    _need_ordinal(query, shares)
    (axis,) = shares.domain.axes
    # The item is the inclusive upper end: the integer or label itself, or the upper end of the bin.
    items = (axis.item(i) if axis.low is None else axis.units(i + 1) for i in range(axis.size))
    return shares.show(query.text, shares.cdf(), ((item, None) for item in items))


def _frequencies(query: Query, shares: Shares) -> list[Answer]:
    return _cells(query.text, shares, np.arange(shares.domain.size, dtype=np.int64))


def _top(query: Query, shares: Shares) -> list[Answer]:
    (text,) = query.arguments
    wanted = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if wanted < 1:
        raise QueryError(f"top must be a whole number of at least 1, got {text}")
    # By the raw values: no method changes their order, and those it makes equal stay apart.
    return _cells(query.text, shares, _largest(shares.estimate.estimate.reshape(-1), wanted))


def _largest(values: NDArray[np.float64], wanted: int) -> NDArray[np.int64]:
    """Cells of the largest values, largest first, equal ones in domain order; only candidates are sorted."""
    falling = np.where(np.isnan(values), np.inf, -values)
    if wanted < falling.size:
        last = np.partition(falling, wanted - 1)[wanted - 1]
        candidates = np.flatnonzero(falling <= last)
    else:
        candidates = np.arange(falling.size)
    return candidates[np.argsort(falling[candidates], kind="stable")][:wanted].astype(np.int64)


def _cells(text: str, shares: Shares, cells: NDArray[np.int64]) -> list[Answer]:
    return shares.show(text, shares.points(cells), (name_cell(shares.domain, index) for index in cells.tolist()))


def _need_ordinal(query: Query, shares: Shares) -> None:
    domain = shares.domain
    if domain.kind not in ORDERED_KINDS or domain.kind == "grid":
        raise QueryError(f"query {query.kind} needs an ordinal domain, this one is {domain.kind}")


_ANSWERS: dict[str, Callable[[Query, Shares], list[Answer]]] = {
    "point": _point,
    "range": _range,
    "prefix": _prefix,
    "quantile": _quantile,
    "cdf": _cdf,
    "frequencies": _frequencies,
    "top": _top,
    "weighted": _weighted,
    "linear": _linear,
    "auc": _auc,
}
