"""Errors of the mathematics. Messages name the parameter, what is allowed and what was got; never a raw value."""

from collections.abc import Iterable
from typing import Unpack

from hearsay.errors import Fields, HearsayError, nearest

LISTED = 8  # a longer list of names is shortened


class MechanismError(HearsayError, ValueError):
    """Base of every error that the mechanisms raise."""

    CODE = "mechanism"


class SpecificationError(MechanismError):
    """A survey asks for something that the mechanism, its domain or its options do not allow."""

    CODE = "specification"


class ValueOutsideDomain(MechanismError):
    """A device was given a value outside the survey's domain; the message never shows the value.

    Of many values, `positions` says which ones, and `column` in which column, where that is known; `position` is the
    first of them.

    >>> from hearsay.mechanisms import build
    >>> mechanism = build({"mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 4}})
    >>> mechanism.domain.one(7)
    Traceback (most recent call last):
    hearsay.mechanisms.errors.ValueOutsideDomain: value must be an integer in 0..3
    """

    CODE = "value-outside-domain"

    def __init__(
        self,
        message: str = "",
        positions: Iterable[int] | int = (),
        column: str | None = None,
        **fields: Unpack[Fields],
    ) -> None:
        super().__init__(message, **fields)
        self.positions = (positions,) if isinstance(positions, int) else tuple(positions)
        self.column = column

    @property
    def position(self) -> int | None:
        return self.positions[0] if self.positions else None


class NotPortable(MechanismError):
    """The form for devices in other languages cannot express a mechanism or its values; Python's `Device` can."""

    CODE = "not-portable"


class QueryError(MechanismError):
    """A question that this estimate cannot answer: wrong kind, empty or reversed range, outside the domain."""

    CODE = "query"


class UnknownQuery(QueryError):
    """A question whose first word no query has; `verb` is that word."""

    def __init__(self, message: str = "", verb: str = "", **fields: Unpack[Fields]) -> None:
        super().__init__(message, **fields)
        self.verb = verb


class ImpossibleCounts(QueryError):
    """A state that no set of reports produces: it is damaged or made up, and nothing is answered from it."""

    CODE = "impossible-counts"


def refuse_more(number: int, most: int, of: str, ending: str = "", *, what: str = "domain") -> None:
    """Refuse a survey in which `what` has more than `most` of something; `ending` says what to do instead."""
    if number > most:
        raise SpecificationError(what=what, must=f"have at most {most} {of}", got=number, ending=ending)


def quoted(name: str) -> str:
    """A name as a list shows it: in double quotes where it has a comma, as `hearsay init` and CSV files take it."""
    return f'"{name}"' if "," in name else name


def one_of(names: Iterable[str], got: object = "") -> str:
    """Names as an error lists them: all, or where there are more than eight the three nearest to what was given.

    Where no text was given, none is near: all are listed.

    >>> one_of(["grr", "hr", "hrr"], "hhr")
    'grr, hr, hrr'
    >>> one_of([f"mechanism{number}" for number in range(40)], "mechanism7")
    'mechanism7, mechanism37, mechanism27 (and 37 others)'
    >>> one_of(["New York", "Washington, D.C."])
    'New York, "Washington, D.C."'
    """
    every = list(map(quoted, names))
    if len(every) <= LISTED or not isinstance(got, str):
        return ", ".join(every)
    near = nearest(got, every)
    return f"{', '.join(near)} (and {len(every) - len(near)} others)"
